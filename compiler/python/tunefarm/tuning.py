"""Tuning networks on this machine."""

import os

from . import models, programs
from .progress import Progress, shown


class Tuned:
    """The result of `tune`.

    trials, failures, elapsed_s: of this run. tasks: a dict for each kernel: label, weight, trials, best_ns, untuned_ns, ….
    network: the comparison of the tuned and the untuned network, in interleaved rounds; None if they were not compared. "takes"
    says what builds use from now on ("fastest" or "untuned"). The others are "why", "rounds" and, if the network was timed,
    "untuned_ns", "tuned_ns", "ratio" and its 95% bounds "ratio_interval".
    build: for each kernel, what a build uses and why. stopped: whether on_progress or Ctrl-C ended the run early.
    """

    def __init__(self, model, db, target, options, progress, last, stopped):
        self._model, self._options = model, options
        self.db, self.target, self.stopped = db, target, stopped
        self.trials, self.failures, self.elapsed_s = progress.trials, progress.failures, progress.elapsed_s
        self.tasks = progress.tasks
        self.curve = progress.curve
        self.network = last.get("network")
        self.build = last.get("build", [])

    @property
    def speedup(self):
        """The speedup of the whole network, measured in interleaved rounds; 1.0 if builds stay untuned; None if it was not
        timed."""
        if not self.network or "ratio" not in self.network:
            return None
        return 1 / self.network["ratio"] if self.network["takes"] == "fastest" else 1.0

    def compile(self, **options):
        """The tuned network as a Model: tf.compile with this database and the options of the tuning run."""
        return models.compile(self._model, self.target, self.db, **{**self._options, **options})

    def __repr__(self):
        gain = ""
        if self.speedup:
            gain = ", builds stay untuned" if self.speedup == 1 else f", {self.speedup:.3g} times as fast"
        return f"<Tuned {self.trials} trials in {self.elapsed_s:.0f} s{gain}>"


def tune(model, db, minutes=None, on_progress=None, *, trials=None, target="host", threads=1, dims=None, at=None, inputs=None,
         allow=None, strategy=None, seed=None, until_gain=None, device_class=None, without_sandbox=None, builders=None,
         progress=True):
    """Finds the fastest schedules of a network's kernels by measuring candidates on this machine: `tf.tune("net.onnx",
    "tune.db", minutes=5)`.

    model, target, threads, dims, at, inputs, allow: as in `compile`.
    db: database FILE for the measurements; it is created if it does not exist. A later run continues where this one ended.
    minutes: time budget; trials: maximum number of candidates; until_gain: stop when the expected gain per minute is below
        this percentage of the network's time. Without any of them: 1000 trials.
    on_progress: called about once a second with a Progress. If it returns False, tuning ends after the running trials.
    strategy: "evolutionary", "random", "grid", "annealing" or "ansor". seed: of the search.
    device_class: the device class of the stored measurements ("local"). without_sandbox, builders: as in `tuner tune`.
    progress: show the progress: one line on a terminal, a curve in a notebook.

    Returns a Tuned. Ctrl-C finishes running trials and raises KeyboardInterrupt; all measurements are kept. Raises Error if the
    network cannot be built, another tuner uses the database, or this machine cannot measure.
    """
    stand = Progress(trials)
    last = {}
    stopped = False
    with models.model_file(model) as path, shown(stand, progress) as show:
        child = programs.Child(
            "tuner", "tune", path, "--db", os.fspath(db), "--json",
            *programs.options(target=target, minutes=minutes, trials=trials, threads=threads, strategy=strategy, seed=seed,
                              until_gain=until_gain, device_class=device_class, without_sandbox=without_sandbox,
                              builders=builders),
            *programs.network_options(dims, at, inputs, allow))
        for last in child.json_lines():
            stand.update(last)
            show()
            if on_progress and on_progress(stand) is False and not stopped:
                stopped = True
                child.stop()
        child.end(accepted=(0, 130) if stopped else (0,))
    options = {"threads": threads, "dims": dims, "at": at, "inputs": inputs, "allow": allow}
    return Tuned(model, db, target, options, stand, last, stopped)
