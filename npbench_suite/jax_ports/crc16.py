"""JAX ports of crc16."""

import jax.numpy as jnp
from jax import Array, lax


def _shifted(crc: Array, poly: int) -> Array:
    return jnp.where(crc & 1, (crc >> 1) ^ poly, crc >> 1)


def _exchanged(crc: Array) -> Array:
    crc = ~crc & 0xFFFF
    return ((crc << 8) | (crc >> 8)) & 0xFFFF


def idiomatic(data: Array, poly: int = 0x8408) -> tuple[Array]:
    table = jnp.arange(256, dtype=jnp.int32)
    for _ in range(8):
        table = _shifted(table, poly)

    def byte(crc: Array, b: Array) -> tuple[Array, None]:
        return (crc >> 8) ^ table[(crc ^ b) & 0xFF], None

    crc, _ = lax.scan(byte, jnp.int32(0xFFFF), data.astype(jnp.int32))
    return (_exchanged(crc),)


def literal(data: Array, poly: int = 0x8408) -> tuple[Array]:
    def bit(_: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        crc, byte = carry
        crc = jnp.where((crc ^ byte) & 1, (crc >> 1) ^ poly, crc >> 1)
        return crc, byte >> 1

    def step(n: Array, crc: Array) -> Array:
        return lax.fori_loop(0, 8, bit, (crc, data[n].astype(jnp.int32)))[0]

    return (_exchanged(lax.fori_loop(0, data.size, step, jnp.int32(0xFFFF))),)
