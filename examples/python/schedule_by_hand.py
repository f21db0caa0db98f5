# %% [markdown]
# # A kernel and its schedules as values
#
# A workload says what is computed, a schedule how. Both are values: they are printed, compared, passed on and changed by steps.

# %%
import numpy as np
import tunefarm as tf

N = 256
a, b = tf.placeholder((N, N), name="a"), tf.placeholder((N, N), name="b")
k = tf.reduce_axis(N)
product = tf.compute((N, N), lambda i, j: tf.sum(a[i, k] * b[k, j], axis=k), name="product")
matmul = tf.Workload(product)
print(matmul)

# %% [markdown]
# Without steps it is three nested loops. Each step gives a new schedule, and one that is not legal is refused at once, with what
# would be.

# %%
plain = matmul.schedule()
print(plain.ir())
try:
    plain.vectorize(product, "i9")
except tf.IllegalStep as error:
    print(error)

# %% [markdown]
# Tiles of 4 x 16 results in registers, in vectors of eight:

# %%
tiled = plain.cache_write(product).split(product, "i0", 4).split(product, "i1", [2, 8])
tiled = tiled.reorder(product, "i0.0", "i1.0", "i0.1", "i1.1", "i1.2")
tiled = tiled.unroll(product, "i0.1").unroll(product, "i1.1").vectorize(product, "i1.2")
tiled = tiled.compute_at("t0.acc", product, "i1.0", "register").split("t0.acc", "i1", 8)
tiled = tiled.reorder("t0.acc", "r0", "i0", "i1.0", "i1.1").unroll("t0.acc", "i0").unroll("t0.acc", "i1.0")
tiled = tiled.vectorize("t0.acc", "i1.1")
for stage in tiled.stages:
    print(stage)

# %% [markdown]
# Compiled, it is a function of arrays; measured, it runs in the tuner's sandbox, which also checks its answers.

# %%
x, y = (np.random.default_rng(seed).random((N, N), dtype=np.float32) for seed in (1, 2))
kernel = tiled.compile()
print("largest error", np.abs(kernel(x, y) - x @ y).max())
assert np.allclose(kernel(x, y), x @ y, rtol=1e-4)
for name, schedule in (("plain", plain), ("tiled", tiled), ("the compiler's own", matmul.default_schedule())):
    print(name, schedule.measure())

# %%
print(tiled.assembly().splitlines()[0])
