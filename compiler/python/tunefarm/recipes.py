"""Recipes: schedules with open choices, and tuning them by measuring."""

import hashlib
import inspect
import math
import random
import statistics
import time

from . import _core
from .progress import Progress, duration, shown
from .workloads import Workload

_FIRST_RANDOM = 8  # candidates before varying the best ones begins
_PARENTS = 4  # the best ones that are varied
_RANDOM_SHARE = 0.25  # of later candidates that are drawn anew
_FINALISTS = 3
_FINAL_ROUNDS = 9
_TRIES = 200  # to draw one that is new


class Choice:
    """The possible values of a recipe's parameter; `default` is one of them."""

    def __init__(self, values, default):
        self.values, self.default = tuple(values), default

    def __repr__(self):
        return f"choice({', '.join(map(repr, self.values))}, default={self.default!r})"


def choice(*values, default=None):
    """A parameter of a recipe: one of these values. The default is the first value, unless another one is given."""
    if len(values) == 1 and isinstance(values[0], (list, tuple, range)):
        values = tuple(values[0])
    if not values:
        raise ValueError("a choice needs at least one value")
    default = values[0] if default is None else default
    if default not in values:
        raise ValueError(f"the default {default!r} is none of {values}")
    return Choice(values, default)


class Recipe:
    """A way to schedule workloads, with parameters that tuning chooses; see `recipe`.

    function(schedule, **choices) takes a Schedule without steps, adds steps, and returns it. For incompatible choices it may raise
    IllegalStep or ValueError; these choices are skipped.
    """

    def __init__(self, function, parameters, name=None):
        self.function, self.name = function, name or function.__name__
        self.parameters = dict(parameters)
        for key, parameter in self.parameters.items():
            if not isinstance(parameter, Choice):
                raise TypeError(f"parameter '{key}' must be tf.choice(…), not {parameter!r}")
        accepted = inspect.signature(function).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
            for key in self.parameters:
                if key not in accepted:
                    raise TypeError(f"the function {self.name} has no parameter '{key}'; it has: {', '.join(accepted)}")
        self.__doc__ = function.__doc__

    @property
    def size(self):
        """The number of combinations of choices."""
        return math.prod(len(parameter.values) for parameter in self.parameters.values())

    @property
    def defaults(self):
        """The default choices."""
        return {key: parameter.default for key, parameter in self.parameters.items()}

    @property
    def sketch_hash(self):
        """The identifier of the space of choices in databases."""
        text = f"python {self.name} " + " ".join(f"{key}={parameter.values!r}" for key, parameter in self.parameters.items())
        return hashlib.sha256(text.encode()).hexdigest()

    def schedule(self, workload, target="host", threads=1, allow=(), **choices):
        """The workload's schedule with these choices, and defaults for the others. Raises ValueError if a parameter does not have
        such a value, and IllegalStep if the choices are incompatible."""
        for key, value in choices.items():
            if key not in self.parameters:
                raise ValueError(f"the recipe {self.name} has no parameter '{key}'; it has: {', '.join(self.parameters)}")
            if value not in self.parameters[key].values:
                raise ValueError(f"{key}={value!r} is none of {self.parameters[key].values}")
        return self._applied(workload.schedule(target, threads, allow), {**self.defaults, **choices})

    def _applied(self, empty, choices):
        made = self.function(empty, **choices)
        if not hasattr(made, "measure"):
            raise TypeError(f"the recipe {self.name} must return a Schedule, but returned {made!r}")
        return made

    def indices(self, choices):
        """The index of each choice among its parameter's values, as stored in databases."""
        return [parameter.values.index(choices[key]) for key, parameter in self.parameters.items()]

    def __repr__(self):
        return f"<Recipe {self.name}: {', '.join(f'{key}={parameter}' for key, parameter in self.parameters.items())}>"


def recipe(**parameters):
    """Makes a Recipe from a function:

        @tf.recipe(rows=tf.choice(4, 8, 16), lanes=tf.choice(4, 8, 16, default=8))
        def tiled(s, rows, lanes):
            return s.split("t0", "i1", lanes).vectorize("t0", "i1.1").split("t0", "i0", rows)
    """
    return lambda function: Recipe(function, parameters)


class TunedKernel:
    """The result of `tune_kernel`.

    best: the best Schedule; choices: its choices. default: the recipe's default Schedule. If no candidate is faster with confidence,
    best is the default. best_ns, default_ns: their times in interleaved rounds at the end; ratio: of these two, with ratio_interval
    (the middle half of the rounds). untuned_ns: the time of the compiler's own default schedule.
    trials: measured candidates; illegal: incompatible combinations of choices. history: a dict for each trial: choices, outcome,
    detail, median_ns, elapsed_s.
    """

    def __init__(self, **found):
        self.__dict__.update(found)

    @property
    def speedup(self):
        """The speedup of the best schedule over the recipe's default."""
        return 1 / self.ratio

    def compile(self):
        """The best schedule as a Kernel."""
        return self.best.compile()

    def __repr__(self):
        return (f"<TunedKernel {duration(self.best_ns)}, {self.speedup:.3g} times as fast as the default, "
                f"{self.trials} trials, {self.choices}>")


class _Search:
    """Proposes choices that were not proposed before: the defaults, then random ones, then variations of the best."""

    def __init__(self, recipe, seed, strategy):
        self._parameters, self._random, self._strategy = recipe.parameters, random.Random(seed), strategy
        self._seen, self._timed = set(), []
        self._first = recipe.defaults

    def next(self):
        if not self._seen:
            return self._new(self._first)
        for _ in range(_TRIES):
            choices = self._vary() if self._varies() else self._draw()
            if tuple(choices.values()) not in self._seen:
                return self._new(choices)
        return self._any_left()

    def tell(self, choices, ns):
        self._timed = sorted(self._timed + [(ns, tuple(choices.items()))], key=lambda one: one[0])

    def _new(self, choices):
        self._seen.add(tuple(choices.values()))
        return choices

    def _varies(self):
        enough = len(self._timed) >= _FIRST_RANDOM
        return self._strategy == "evolutionary" and enough and self._random.random() >= _RANDOM_SHARE

    def _draw(self):
        return {key: self._random.choice(parameter.values) for key, parameter in self._parameters.items()}

    def _vary(self):
        parents = [dict(choices) for _, choices in self._timed[:_PARENTS]]
        choices = dict(self._random.choice(parents))
        other = self._random.choice(parents)
        for key, parameter in self._parameters.items():
            if self._random.random() < 0.3:
                choices[key] = other[key]
        key = self._random.choice(list(self._parameters))
        values = self._parameters[key].values
        step = self._random.choice((-1, 1, None))
        if step is None:
            choices[key] = self._random.choice(values)
        else:  # a neighbour: values are usually in order
            choices[key] = values[min(max(values.index(choices[key]) + step, 0), len(values) - 1)]
        return choices

    def _any_left(self):
        size = math.prod(len(parameter.values) for parameter in self._parameters.values())
        if size <= len(self._seen) or size > 1_000_000:
            return None
        keys = list(self._parameters)
        for number in range(size):
            values = []
            for key in reversed(keys):
                number, place = divmod(number, len(self._parameters[key].values))
                values.append(self._parameters[key].values[place])
            if tuple(reversed(values)) not in self._seen:
                return self._new(dict(zip(keys, reversed(values))))
        return None


def tune_kernel(workload, recipe, trials=64, *, db=None, target="host", threads=1, allow=(), minutes=None, seed=1,
                strategy="evolutionary", on_progress=None, progress=True):
    """Finds the best choices of a recipe for a workload by measuring on this machine. Returns a TunedKernel.

    trials: the number of candidates to measure, with the default; minutes: the time limit. Answers are checked, and candidates
        with wrong answers or crashes are excluded. At the end, the best few candidates, the default and the compiler's own
        schedule are timed again in interleaved rounds.
    db: database FILE that stores all measurements, so that `compile(db=)` uses the best one for such a kernel. No other tuner may
        write to it at the same time.
    strategy: "evolutionary" (varies the best candidates) or "random"; the same seed proposes the same first candidates.
    on_progress: called after each trial with a Progress. If it returns False, the search ends.
    Ctrl-C raises KeyboardInterrupt; the measurements are in the database. Raises ValueError if the default's choices are
    incompatible, and Error if the default is wrong or does not compile, or if this machine cannot measure.
    """
    if not isinstance(workload, Workload):
        raise TypeError(f"workload must be a tf.Workload, not {workload!r}")
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be made by tf.recipe or tf.Recipe, not {recipe!r}")
    if strategy not in ("evolutionary", "random"):
        raise ValueError(f"strategy is {strategy!r}, but must be 'evolutionary' or 'random'")
    if trials < 1:
        raise ValueError(f"trials is {trials}, but must be at least 1")
    database = None if db is None else _core.Database(str(db))
    return _tuned(workload, recipe, trials, minutes, _Search(recipe, seed, strategy), (target, threads, allow), on_progress,
                  progress, database)


def _tuned(workload, recipe, trials, minutes, search, settings, on_progress, progress, database):
    empty = workload.schedule(*settings)
    sketch_hash = recipe.sketch_hash
    began = time.monotonic()
    stand = Progress(trials)
    history, found, illegal = [], [], 0
    known = {}  # times by the schedule's text: two choices may give one schedule
    default = recipe._applied(empty, recipe.defaults)

    def measure(schedule, choices, seconds=0.025):
        measured = schedule.measure(seconds=seconds, _sketch_hash=sketch_hash if choices is not None else "",
                                    _choices=recipe.indices(choices) if choices is not None else ())
        if database is not None:
            database.insert(empty._problem, measured._core)
        return measured

    with shown(stand, progress) as show:
        while len(history) < trials and (minutes is None or time.monotonic() - began < 60 * minutes):
            choices = search.next()
            if choices is None:
                break
            try:
                schedule = recipe._applied(empty, choices)
            except ValueError:  # IllegalStep is one
                illegal += 1
                continue
            if schedule.text in known:
                search.tell(choices, known[schedule.text])
                continue
            row = {"choices": choices, "outcome": "compile_error", "detail": "", "median_ns": None}
            try:
                measured = measure(schedule, choices)
                row.update(outcome=measured.outcome, detail=measured.detail)
                if measured.ok:
                    row["median_ns"] = measured.median_ns
            except _core.Error as error:
                if not history:
                    raise
                row["detail"] = str(error)
            row["elapsed_s"] = time.monotonic() - began
            history.append(row)
            known[schedule.text] = row["median_ns"] or math.inf
            if row["median_ns"] is None:
                if len(history) == 1:
                    raise _core.Error(f"the default of recipe {recipe.name} cannot be measured: {row['outcome']}: {row['detail']}")
                stand.failures += 1
            else:
                search.tell(choices, row["median_ns"])
                found.append((row["median_ns"], choices, schedule))
            stand.trials = len(history)
            stand.elapsed_s = row["elapsed_s"]
            stand.trials_per_second = stand.trials / max(stand.elapsed_s, 1e-9)
            stand.share = stand.trials / trials
            stand.set_best(min(ns for ns, _, _ in found), found[0][0])
            show()
            if on_progress and on_progress(stand) is False:
                break
        stand.phase = "finals"
        show()
        result = _finals(recipe, default, sorted(found, key=lambda one: one[0])[:_FINALISTS], workload.default_schedule(*settings),
                         measure)
        stand.phase, stand.share, stand.elapsed_s = "over", 1.0, time.monotonic() - began
        stand.set_best(result["best_ns"], result["default_ns"])
    return TunedKernel(default=default, trials=len(history), illegal=illegal, history=history, curve=stand.curve, **result)


def _finals(recipe, default, finalists, untuned, measure):
    """Times the finalists, the default and the untuned schedule in turns: what the machine does meanwhile is the same for all."""
    entrants = [(default, recipe.defaults)] + [(schedule, choices) for _, choices, schedule in finalists
                                               if schedule.text != default.text]
    times = [[] for _ in entrants]
    untuned_times = []
    for turn in range(_FINAL_ROUNDS):
        order = list(range(len(entrants)))
        for place in order[turn % len(order):] + order[:turn % len(order)]:
            measured = measure(*entrants[place])
            times[place].append(measured.median_ns if measured.ok else math.inf)
        if turn < 3:
            measured = measure(untuned, None)
            untuned_times.append(measured.median_ns if measured.ok else math.inf)
    best, ratio, interval = 0, 1.0, (1.0, 1.0)
    for place in range(1, len(entrants)):
        ratios = sorted(mine / theirs for mine, theirs in zip(times[place], times[0]))
        low, median, high = ratios[_FINAL_ROUNDS // 4], statistics.median(ratios), ratios[-1 - _FINAL_ROUNDS // 4]
        if high < 1 and median < ratio:
            best, ratio, interval = place, median, (low, high)
    schedule, choices = entrants[best]
    return {"best": schedule, "choices": choices, "best_ns": statistics.median(times[best]),
            "default_ns": statistics.median(times[0]), "untuned_ns": statistics.median(untuned_times), "ratio": ratio,
            "ratio_interval": interval}
