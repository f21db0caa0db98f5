# %% [markdown]
# # Tune on the devices of a farm
#
# A tuner (`tuner serve`) has devices behind a tracker. It takes jobs, and goes on with them whoever watches.

# %%
import os

import tunefarm as tf

farm = tf.Farm(os.environ.get("SERVER", "127.0.0.1:7191"))
network = tf.zoo("mlp", "mlp.onnx")
job = farm.submit(network, device=os.environ.get("DEVICE", "desk"), trials=int(os.environ.get("TRIALS", 100)))
print(job)

# %%
job = job.watch()
print(job.state, job.trials, "trials")

# %% [markdown]
# The tuner's records are a database, as any other:

# %%
print(len(farm.records(only_ok=True)), "measurements")
model = farm.compile(network)
print(model)
