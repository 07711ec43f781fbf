"""JAX ports of azimint_naive."""

import jax
import jax.numpy as jnp
from jax import Array, lax

# Values per step of the scan: their masks stay in the cache.
PIECE = 1024


def idiomatic(data: Array, radius: Array, npt: int) -> tuple[Array]:
    """One mask per bin and a masked sum, as in the program, for a piece of the data at a time.

    The masks of a piece are made again in the reverse pass. Over all of the data at once, every bin would read both
    arrays from memory. Bin numbers instead of masks would be another algorithm, the one of azimint_hist.
    """
    edges = _edge(jnp.max(radius), jnp.arange(npt + 1), npt)[:, None]

    @jax.checkpoint
    def add(sums: tuple[Array, Array], piece: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        values, radii = piece
        masks = ((edges[:-1] <= radii) & (radii < edges[1:])).astype(data.dtype)
        return (sums[0] + masks @ values, sums[1] + jnp.sum(masks, 1)), None

    nothing = jnp.zeros(npt, data.dtype)
    # A radius of infinity is in no bin.
    pieces = _pieces(data, 0.0), _pieces(radius, jnp.inf)
    (totals, counts), _ = lax.scan(add, (nothing, nothing), pieces)
    return (totals / counts,)


def _edge(rmax: Array, i: Array, npt: int) -> Array:
    # Where XLA sees one divisor for all, it multiplies by the reciprocal: rounding then moves edges, and the largest
    # radius lies in a bin.
    return rmax * i / lax.optimization_barrier(jnp.full(jnp.shape(i), npt, rmax.dtype))


def _pieces(array: Array, fill: float) -> Array:
    count = -(-array.size // PIECE)
    return jnp.pad(array, (0, count * PIECE - array.size), constant_values=fill).reshape(count, PIECE)


def matrix(data: Array, radius: Array, npt: int) -> tuple[Array]:
    """Not the program's algorithm: one bin number per value and scattered sums instead of a mask per bin."""
    bins = _bins(lax.stop_gradient(radius), npt)
    counts = jnp.zeros(npt, data.dtype).at[bins].add(1.0, mode="drop")
    return (jnp.zeros(npt, data.dtype).at[bins].add(data, mode="drop") / counts,)


def _bins(radius: Array, npt: int) -> Array:
    """The bin of every element, npt for none: computed, then put right where rounding crossed an edge."""
    rmax = jnp.max(radius)
    edges = _edge(rmax, jnp.arange(npt + 1), npt)
    bins = jnp.minimum((radius * (npt / rmax)).astype(jnp.int32), npt - 1)
    bins = bins - (radius < edges[bins])
    return bins + (radius >= edges[bins + 1])


def literal(data: Array, radius: Array, npt: int) -> tuple[Array]:
    rmax = jnp.max(radius)

    def mean_of_bin(i: Array, res: Array) -> Array:
        inside = (_edge(rmax, i, npt) <= radius) & (radius < _edge(rmax, i + 1, npt))
        return res.at[i].set(jnp.sum(jnp.where(inside, data, 0.0)) / jnp.sum(inside))

    return (lax.fori_loop(0, npt, mean_of_bin, jnp.zeros(npt, data.dtype)),)
