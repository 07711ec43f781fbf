"""
A variational quantum circuit
=============================

The ground state of a chain of spins, from a circuit of rotations whose angles are optimised. The state is a vector of
complex numbers; the gradient of the energy by all angles costs a few circuits, however many angles there are.
"""
import matplotlib.pyplot as plt
import numpy as np

import sdfgad

SPINS, LAYERS, FIELD = 8, 4, 1.0
STATES = 2**SPINS
bits = 1 - 2 * ((np.arange(STATES)[:, None] >> np.arange(SPINS)) & 1)
bonds = np.sum(bits * np.roll(bits, 1, axis=1), axis=1).astype(float)
flipped = np.arange(STATES)[:, None] ^ (1 << np.arange(SPINS))


def circuit(angles):
    """Layers of couplings of neighbours, exp(-i a sum ZZ), and rotations of each spin, exp(-i b X)."""
    state = np.full(STATES, 1 / np.sqrt(STATES) + 0j)
    for layer in range(LAYERS):
        state = np.exp(-1j * angles[layer, 0] * bonds) * state
        for spin in range(SPINS):
            turn = angles[layer, 1 + spin]
            state = np.cos(turn) * state - 1j * np.sin(turn) * state[flipped[:, spin]]
    return state


def energy(angles):
    """Of the Ising chain in a transverse field: - sum ZZ - field * sum X."""
    state = circuit(angles)
    found = -np.sum(bonds * np.abs(state) ** 2)
    for spin in range(SPINS):
        found = found - FIELD * np.real(np.sum(np.conj(state) * state[flipped[:, spin]]))
    return found


# %%
# The exact answer, for comparison, from the whole matrix.
matrix = -np.diag(bonds)
for spin in range(SPINS):
    matrix[np.arange(STATES), flipped[:, spin]] -= FIELD
exact = np.linalg.eigvalsh(matrix)[0]

rng = np.random.default_rng(0)
angles = 0.1 + 0.05 * rng.normal(size=(LAYERS, 1 + SPINS))
print(sdfgad.check_grads(energy, angles))

# %%
# Gradient descent with momentum.
gradient = sdfgad.value_and_grad(energy)
speed, energies = np.zeros_like(angles), []
for _ in range(500):
    value, g = gradient(angles)
    speed = 0.9 * speed - 0.008 * g
    angles = angles + speed
    energies.append(value)
print(f"energy {energies[0]:.3f} -> {energies[-1]:.4f}, exact {exact:.4f}")

# %%
fig, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.semilogy(np.array(energies) - exact)
axis.set(xlabel="step", ylabel="energy above the ground state", title=f"{SPINS} spins, {angles.size} angles")
plt.show()
