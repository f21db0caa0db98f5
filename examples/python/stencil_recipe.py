# %% [markdown]
# # A recipe of one's own for a stencil of three stages
#
# A recipe is a function from choices to a schedule. Tuning finds the choices that are fastest on this machine.

# %%
import os

import numpy as np
import tunefarm as tf

HEIGHT, WIDTH = int(os.environ.get("HEIGHT", 1080)), int(os.environ.get("WIDTH", 1920))
TRIALS = int(os.environ.get("TRIALS", 60))

# %% [markdown]
# The computation: an image is blurred along its rows, then along its columns, and what the blur took away is added twice.
# `compute` checks that nothing outside of the image is read.

# %%
image = tf.placeholder((HEIGHT, WIDTH), name="image", domain=(0, 1))
rows = tf.compute((HEIGHT, WIDTH - 2), lambda y, x: (image[y, x] + image[y, x + 1] + image[y, x + 2]) / 3, name="rows")
blurred = tf.compute((HEIGHT - 2, WIDTH - 2), lambda y, x: (rows[y, x] + rows[y + 1, x] + rows[y + 2, x]) / 3, name="blurred")
sharp = tf.compute((HEIGHT - 2, WIDTH - 2), lambda y, x: image[y + 1, x + 1] * 3 - blurred[y, x] * 2, name="sharp")
stencil = tf.Workload(sharp)
print(stencil)

# %% [markdown]
# The recipe: the result is made in strips of `strip` rows. `rows` and `blurred` are computed before that for the whole image, or
# for each strip, so that they stay in the cache, or `blurred` not by itself at all. Vectors have `lanes` columns. The defaults are
# careful: whole images, short vectors.


# %%
@tf.recipe(place=tf.choice("whole", "strip", "inline"), strip=tf.choice(1, 2, 4, 8, 16, 32, 64, default=8),
           lanes=tf.choice(4, 8, 16, 32))
def strips(s, place, strip, lanes):
    if place == "inline":
        s = s.inline(blurred)
    s = s.split(sharp, "i0", strip)
    if place == "strip":
        s = s.compute_at(blurred, sharp, "i0.0")
    if place != "whole":
        s = s.compute_at(rows, sharp, "i0.0")
    for stage in (rows, sharp) if place == "inline" else (rows, blurred, sharp):
        s = s.split(stage, "i1", lanes).vectorize(stage, "i1.1")
    return s


print(strips, strips.size, "combinations")
print(strips.schedule(stencil, place="strip"))

# %% [markdown]
# Tuning measures candidates in the sandbox and checks their answers. At the end the best ones and the default are timed again in
# turns.

# %%
tuned = tf.tune_kernel(stencil, strips, trials=TRIALS, db="stencil.db")
print(tuned)

# %%
kernel = tuned.compile()
picture = tf.empty((HEIGHT, WIDTH))
picture[...] = np.random.default_rng(1).random(picture.shape)
result = kernel(picture)
blur = sum(picture[:, i:WIDTH - 2 + i] for i in range(3)) / 3
blur = sum(blur[i:HEIGHT - 2 + i] for i in range(3)) / 3
expected = picture[1:-1, 1:-1] * 3 - blur * 2
print("largest error", np.abs(result - expected).max())
assert np.allclose(result, expected, atol=1e-5)
