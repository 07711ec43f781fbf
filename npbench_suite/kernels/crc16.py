"""Cyclic redundancy check of 16 bits over a sequence of bytes, bit by bit."""

import numpy as np

from npbench_suite.data import pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (3, 7, 16)


def crc16(data, poly=0x8408):
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & int(b)
        for _ in range(8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


def initialize(N: int) -> Arguments:
    return {"data": seeded().integers(0, 256, size=N, dtype=np.uint8)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    return {"data": rng.integers(0, 256, size=pick(SIZES, size), dtype=np.uint8)}


KERNEL = Kernel(
    name="crc16",
    program=crc16,
    initialize=initialize,
    sample=sample,
    wrt=(),
    literal=jax_port("crc16", "literal"),
    idiomatic=jax_port("crc16", "idiomatic"),
    gradient="none",
    notes="Bits of integers throughout.",
)
