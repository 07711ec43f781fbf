"""Calls of mpi4py: messages, collectives, requests, and what ranks know before the call."""
