"""JAX ports of scattering_self_energies."""

import jax.numpy as jnp
from jax import Array, lax


def idiomatic(neigh_idx: Array, dH: Array, G: Array, D: Array, Sigma: Array) -> tuple[Array]:
    # What stands to the right of G depends neither on the momentum nor on the energy: one block per (w, a, b).
    heavy = jnp.einsum("wabij,abjyz->wabiyz", jnp.sum(D, axis=0), dH)
    right = jnp.einsum("abixy,wabiyz->wabxz", dH, heavy)
    gathered = G[:, :, neigh_idx]
    energies = G.shape[1]
    for w in range(min(D.shape[1], energies)):
        update = jnp.einsum("keabxy,abyz->keaxz", gathered[:, : energies - w], right[w])
        Sigma = Sigma.at[:, w:].add(update)
    return (Sigma,)


def literal(neigh_idx: Array, dH: Array, G: Array, D: Array, Sigma: Array) -> tuple[Array]:
    extents = (*G.shape[:2], *D.shape[:2], *D.shape[-2:], *neigh_idx.shape)
    count = 1
    for extent in extents:
        count *= extent

    def body(flat: Array, Sigma: Array) -> Array:
        k, E, q, w, i, j, a, b = jnp.unravel_index(flat, extents)
        dHG = G[k, jnp.maximum(E - w, 0), neigh_idx[a, b]] @ dH[a, b, i]
        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
        return Sigma.at[k, E, a].add(jnp.where(w <= E, dHG @ dHD, 0.0))

    return (lax.fori_loop(0, count, body, Sigma),)
