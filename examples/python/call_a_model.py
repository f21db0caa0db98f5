# %% [markdown]
# # Compile a network and call it
#
# A compiled network is a function of arrays. It takes and gives NumPy arrays, and whatever has `__dlpack__`, without copies.

# %%
import threading

import numpy as np
import tunefarm as tf

# %% [markdown]
# Any ONNX file will do; the zoo writes well-known networks with random weights.

# %%
network = tf.zoo("squeezenet", "squeezenet.onnx")
model = tf.compile(network, output="squeezenet")
print(model)

# %% [markdown]
# Arrays of `tf.empty` are aligned so that the network reads them in place; others are copied at each call.

# %%
image = tf.empty(model.inputs[0].shape, model.inputs[0].dtype)
image[...] = np.random.default_rng(1).random(image.shape)
scores = model(image)
print("class", scores.argmax(), "of", scores.size)

# %% [markdown]
# By names it gives a dict; `out=` writes to an array of one's own.

# %%
by_name = model({model.inputs[0].name: image})
again = tf.empty(scores.shape)
model(image, out=again)
assert np.array_equal(by_name[model.outputs[0].name], scores) and np.array_equal(again, scores)

# %% [markdown]
# A network runs without the GIL, so that threads run several at once. Loading it again costs little: weights are shared.

# %%
models = [tf.Model.load("squeezenet") for _ in range(2)]
results = [None, None]


def run(index):
    results[index] = models[index](image)


threads = [threading.Thread(target=run, args=(index,)) for index in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all(np.array_equal(result, scores) for result in results)
print("two threads ran two models")
