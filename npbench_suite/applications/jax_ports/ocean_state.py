"""JAX port of ocean_state."""

import jax.numpy as jnp


def density(salinity, temperature, pressure):
    """Density of sea water by the international equation of state EOS-80 (UNESCO 1981); kg/m3, of practical
    salinity, degrees Celsius and bar."""
    s, t, p = salinity, temperature, pressure
    root = jnp.sqrt(s)
    pure = 999.842594 + t * (6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6
                                                                                       + t * 6.536332e-9))))
    first = 8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    second = -5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)
    surface = pure + s * (first + root * second + s * 4.8314e-4)
    bulk = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 - t * 5.155288e-5)))
    bulk = bulk + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 - t * 6.1670e-5)))
    bulk = bulk + s * root * (7.944e-2 + t * (1.6483e-2 - t * 5.3009e-4))
    linear = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 - t * 5.77905e-7))
    linear = linear + s * (2.2838e-3 + t * (-1.0981e-5 - t * 1.6078e-6)) + 1.91075e-4 * s * root
    square = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8) + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
    return surface / (1.0 - p / (bulk + p * (linear + p * square)))


def program(salinity, temperature, pressure):
    return jnp.sum(density(salinity, temperature, pressure))
