# %% [markdown]
# # Tune a network and look at what was measured

# %%
import os

import tunefarm as tf

TRIALS = int(os.environ.get("TRIALS", 200))
network = tf.zoo("mlp", "mlp.onnx")

# %% [markdown]
# On a terminal this shows one line, in a notebook a curve. Everything that is measured is kept in the database: running it again
# goes on where it ended.

# %%
tuned = tf.tune(network, "tune.db", trials=TRIALS)
print(tuned)
print(tuned.network["why"])

# %% [markdown]
# The tuned network takes the best schedules of the database.

# %%
model = tuned.compile()
for task in model.report["tasks"]:
    print(f"{task['label']}: {'tuned' if task['hit'] and not task['untuned'] else 'untuned'}")

# %% [markdown]
# Records are rows: `pandas.DataFrame(tf.records("tune.db"))`. Here, without pandas, the fastest and slowest candidate of each
# kernel:

# %%
times = {}
for row in tf.records("tune.db", only_ok=True):
    times.setdefault(row["op"], []).append(row["median_ns"])
for op, all_ns in times.items():
    print(f"{op}: {len(all_ns)} candidates, {min(all_ns):.0f} to {max(all_ns):.0f} ns")
