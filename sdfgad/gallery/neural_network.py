"""
A neural network in plain NumPy
===============================

Two layers, a softmax, and Adam, each written the way one writes them in NumPy. The parameters are a dict of arrays,
and so is their gradient.
"""
import matplotlib.pyplot as plt
import numpy as np

import sdfgad

rng = np.random.default_rng(0)


def scores(p, x):
    h = np.tanh(x @ p["w1"] + p["b1"])
    h = np.tanh(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


def loss(p, x, labels):
    """Cross entropy, and a little weight decay."""
    s = scores(p, x)
    s = s - np.max(s, axis=1)[:, None]
    right = s[np.arange(x.shape[0]), labels]
    decay = np.sum(p["w1"] ** 2) + np.sum(p["w2"] ** 2) + np.sum(p["w3"] ** 2)
    return np.mean(np.log(np.sum(np.exp(s), axis=1)) - right) + 1e-4 * decay


# %%
# Three arms of a spiral.
angle = np.linspace(0.5, 4.0, 150)
arms = [np.stack([angle / 4 * np.cos(angle + turn), angle / 4 * np.sin(angle + turn)], 1)
        for turn in (0.0, 2 * np.pi / 3, 4 * np.pi / 3)]
points = np.concatenate(arms) + 0.04 * rng.normal(size=(450, 2))
labels = np.repeat(np.arange(3), 150)
sizes = (2, 32, 32, 3)
p = {}
for k in range(3):
    p[f"w{k + 1}"] = rng.normal(size=sizes[k:k + 2]) / np.sqrt(sizes[k])
    p[f"b{k + 1}"] = np.zeros(sizes[k + 1])

print(sdfgad.check_grads(loss, p, points, labels, wrt="p"))

# %%
# Adam (Kingma and Ba, 2015), on batches.
step = sdfgad.value_and_grad(loss, wrt="p")
mean, square = ({n: np.zeros_like(a) for n, a in p.items()} for _ in range(2))
values = []
for t in range(1, 1501):
    batch = rng.choice(450, size=128, replace=False)
    value, g = step(p, points[batch], labels[batch])
    for n in p:
        mean[n] += 0.1 * (g.p[n] - mean[n])
        square[n] += 0.001 * (g.p[n] ** 2 - square[n])
        p[n] -= 0.01 * (mean[n] / (1 - 0.9**t)) / (np.sqrt(square[n] / (1 - 0.999**t)) + 1e-8)
    values.append(value)
correct = np.mean(np.argmax(scores(p, points), axis=1) == labels)
print(f"loss {values[0]:.2f} -> {values[-1]:.3f}, {100 * correct:.1f} % of the points are on the right side")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
x, y = np.meshgrid(np.linspace(-1.2, 1.2, 200), np.linspace(-1.2, 1.2, 200))
regions = np.argmax(scores(p, np.stack([x.ravel(), y.ravel()], 1)), axis=1).reshape(x.shape)
axes[0].contourf(x, y, regions, levels=[-0.5, 0.5, 1.5, 2.5], alpha=0.3, cmap="brg")
axes[0].scatter(*points.T, c=labels, s=6, cmap="brg")
axes[0].set(title="what it has learned", aspect="equal")
axes[1].semilogy(values)
axes[1].set(title="loss of a batch", xlabel="step")
plt.show()
