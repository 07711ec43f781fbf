"""The typed program representation every layer above works on, and its bridge to DaCe's SDFG.

`index` holds integer index expressions, `expr` scalar expressions, `program` statements and programs,
`walk` traversals, `text` the printed form, `verify` the grammar of each stage, `interpret` the reference semantics.
"""
