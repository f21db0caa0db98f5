"""Schedules: how a workload is computed, as values; kernels that they make."""

from . import programs
from .dtypes import dtype_name
from .progress import duration


class Loop:
    """A loop of a stage: `name`, `extent`, `kind` ("serial", "parallel", "vectorize", "unroll", …), `reduce`."""

    __slots__ = ("name", "extent", "kind", "reduce")

    def __init__(self, name, extent, kind, reduce):
        self.name, self.extent, self.kind, self.reduce = name, extent, kind, reduce

    def __repr__(self):
        return f"{self.name}<{self.extent}{'' if self.kind == 'serial' else ' ' + self.kind}>"


class Stage:
    """A stage as the steps so far made it: `name`, `place` ("root", "inlined", or "CONSUMER LOOP"), `loops`, outermost first."""

    __slots__ = ("name", "place", "loops")

    def __init__(self, name, place, loops):
        self.name, self.place = name, place
        self.loops = [Loop(**loop) for loop in loops]

    def __repr__(self):
        return f"{self.name} at {self.place}: {' '.join(map(repr, self.loops))}"


def _list(values):
    return values if isinstance(values, str) else ",".join(map(str, values)) if isinstance(values, (list, tuple)) else str(values)


class Schedule:
    """A workload and steps that say how it is computed. A value: each step gives a new Schedule, and is checked at once.

    Stages are named by their tensors, or as in the canonical text: t0, t1, …; a stage's loops start as i0, i1, … and, of a
    reduction, r0, r1, …. split("t0", "i0", 8) makes i0.0 (the outer one) and i0.1. `stages` shows what there is. Every step
    raises IllegalStep with what is true and what would be legal.
    """

    def __init__(self, workload, problem, text):
        self.workload, self._problem, self.text = workload, problem, text

    def step(self, text):
        """A step in the language's own words: "annotate t0 i1 vectorize"."""
        return Schedule(self.workload, self._problem, self._problem.checked(self.text + text + "\n"))

    def _step(self, word, *parts):
        return self.step(" ".join([word, *(self.workload.name_of(part) if not isinstance(part, (list, tuple, int)) else
                                           _list(part) for part in parts)]))

    def split(self, stage, loop, factors, tail="guard"):
        """Splits a loop: one outer loop and one for each factor (a number, or a list, outermost first), which need not divide
        the extent. tail: "guard" masks what is beyond it, "shift" moves the last tile back (element-wise stages only)."""
        return self._step("split", stage, loop, factors, tail)

    def fuse(self, stage, *loops):
        """Makes one loop of neighbouring loops, outermost first; i0 and i1 give "i0*i1"."""
        return self._step("fuse", stage, list(loops))

    def reorder(self, stage, *loops):
        """Puts all loops of the stage in this order, outermost first."""
        return self._step("reorder", stage, list(loops))

    def parallel(self, stage, loop):
        """Runs the loop's iterations on the threads."""
        return self._step("annotate", stage, loop, "parallel")

    def vectorize(self, stage, loop):
        """Makes vector instructions of an innermost loop, of at most 64 iterations."""
        return self._step("annotate", stage, loop, "vectorize")

    def bind(self, stage, loop, axis):
        """Makes the loop's iterations blocks or threads of a GPU: axis is "grid_x", "grid_y", "grid_z", "thread_x", "thread_y" or
        "thread_z"."""
        return self._step("annotate", stage, loop, axis)

    def unroll(self, stage, loop):
        """Makes straight code of a loop."""
        return self._step("annotate", stage, loop, "unroll")

    def unroll_limit(self, stage, statements):
        """Unrolls innermost loops of the stage while that makes at most so many copies of its body."""
        return self._step("pragma", stage, "unroll_limit", statements)

    def compute_at(self, stage, consumer, loop, scope="global"):
        """Computes, inside that loop of a later stage, the part that one iteration needs; before any split of the stage.
        scope: "global" (memory), "register", or "shared" (by a GPU's block)."""
        return self._step("compute_at", stage, consumer, loop, scope)

    def inline(self, stage):
        """Makes an element-wise stage part of those that read it."""
        return self._step("inline", stage)

    def root(self, stage):
        """Undoes compute_at."""
        return self._step("root", stage)

    def cache_read(self, source, reader, layout="row_major", scope="global"):
        """Adds a stage SOURCE.pack that copies the source in this layout, such as [1, 0] or "1,0,1:16", for that reader."""
        return self._step("cache_read", source, reader, layout, scope)

    def cache_write(self, stage):
        """Computes the stage into a copy, STAGE.acc, which can be placed by itself; the stage then copies it."""
        return self._step("cache_write", stage)

    def rfactor(self, stage, loop):
        """Makes the partial results over one reduce loop a stage of their own, STAGE.rf."""
        return self._step("rfactor", stage, loop)

    def layout_rewrite(self, buffer, layout):
        """Stores a constant, or a stage that is no output, in this layout."""
        return self._step("layout_rewrite", buffer, layout)

    def pipeline(self, stage, loop, stages):
        """What the loop's iterations copy into shared memory is on its way stages - 1 iterations ahead."""
        return self._step("pipeline", stage, loop, stages)

    def raster(self, stage, group):
        """The blocks of the grid run in groups of so many rows, down the columns of each."""
        return self._step("raster", stage, group)

    def cross_thread(self, stage, axis, threads):
        """Threads of the axis (thread_x, thread_y or thread_z) stand in each iteration of the stage, for what is computed in it."""
        return self._step("cross_thread", stage, axis, threads)

    def storage_align(self, buffer, axis, factor, offset=0):
        """Pads the rows of a stage to a multiple of factor elements, plus offset."""
        return self._step("storage_align", buffer, axis, factor, offset)

    def winograd(self, stage, tile):
        """Computes a 3x3 or 5x5 convolution of stride 1 by Winograd's algorithm, with tiles of 2, 4 or 6; costs accuracy."""
        return self._step("winograd", stage, tile)

    def matrices(self, stage, rows, terms, order="straight", part=0):
        """Makes a sum of products a product of gathered matrices STAGE.a and STAGE.b, of so many terms at once (0: all)."""
        return self._step("matrices", stage, rows, terms, order, part)

    def narrow(self, buffer, dtype):
        """Stores an f32 constant or element-wise stage as "bf16" or "f16"; costs accuracy."""
        return self._step("narrow", buffer, dtype_name(dtype))

    def offset(self, stage, factor, value):
        """Moves a factor of a sum of products of bytes by 128 or -128, so that it has the other sign; exact."""
        return self._step("offset", stage, factor, value)

    @property
    def target(self):
        """What it is compiled for, as canonical text."""
        return self._problem.target

    @property
    def stages(self):
        """The stages, in order, with their loops."""
        return [Stage(**stage) for stage in self._problem.stages(self.text)]

    def loops(self, stage):
        """The names of a stage's loops, outermost first. LookupError if there is no such stage."""
        name = self.workload.name_of(stage)
        for found in self.stages:
            if found.name == name:
                return [loop.name for loop in found.loops]
        raise LookupError(f"there is no stage {name}; there are: {', '.join(found.name for found in self.stages)}")

    def ir(self, after=None):
        """The loop IR that it becomes: after the last pass, or after the pass that is named ("vectorize"); "all": after each, as
        a dict by pass. Error if it does not compile."""
        workers = programs.workers()
        if after is None:
            return workers.show(self._problem, self.text, False)
        passes = dict(workers.passes(self._problem, self.text, after))
        return passes if after == "all" else passes[after]

    def assembly(self):
        """The assembly of its machine code; CUDA C or OpenCL C for a GPU."""
        return programs.workers().show(self._problem, self.text, True)

    def compile(self):
        """A Kernel that is called on arrays. Error if it does not compile, or is for another machine."""
        return Kernel(self)

    def measure(self, check=True, samples=12, seconds=0.025, _sketch_hash="", _choices=()):
        """Times it on this machine, in the tuner's sandbox: a Measurement.

        check: compare its answers with plain loops first. samples: most of them; seconds: of samples, after which there are no
        more. Operands come from beyond the L2 cache, as in a network. A kernel that crashes or is wrong has that as its outcome;
        Error: it does not compile, or this machine cannot measure.
        """
        workers = programs.workers()
        candidate = workers.build(self._problem, self.text)
        reference = _reference(self._problem) if check else None
        return Measurement(workers.measure(self._problem, self.text, candidate, reference, samples, seconds, _sketch_hash,
                                           list(_choices)))

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<Schedule of {self.workload.label or 'a workload'}: {self.text.count(chr(10)) - 1} steps>"

    def __eq__(self, other):
        return isinstance(other, Schedule) and (self.workload, self.target, self.text) == (other.workload, other.target,
                                                                                           other.text)

    def __hash__(self):
        return hash(self.text)


_references = {}


def _reference(problem):
    key = (problem.key, problem.workload, problem.target)
    if key not in _references:
        _references[key] = programs.workers().reference(problem)
    return _references[key]


class Measurement:
    """What measuring gave.

    outcome: "ok", or why there is no time: "wrong_output", "crashed", "timed_out", … with `detail`. median_ns: of one run;
    interval_ns: its 95% bounds; samples_ns: each sample's time of one run. max_error: the largest error of an element, over its
    bound. device: the CPU. untuned: it is the compiler's default schedule. schedule: its text. `json`: as databases export it.
    """

    def __init__(self, core):
        self._core = core

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._core, name)

    @property
    def ok(self):
        """Whether it has a time, and its answers were right."""
        return self._core.outcome == "ok"

    def __repr__(self):
        if not self.ok:
            return f"<Measurement {self.outcome}: {self.detail}>"
        low, high = self.interval_ns
        return f"<Measurement {duration(self.median_ns)} ({duration(low)} to {duration(high)})>"


class Kernel:
    """A compiled workload in this process: `kernel(a, b)`, with arrays in the order of the workload's inputs, or by their names.

    Arrays and `out=` are as of Model; constants are given like inputs, and packed at each call as the schedule wants them. The
    result is an array, or a tuple of several. The GIL is released while it runs.
    """

    def __init__(self, schedule):
        self.schedule = schedule
        problem = schedule._problem
        self._core = programs.workers().build(problem, schedule.text).load(schedule._problem.threads)
        self._places = {info.name: place for place, info in enumerate(schedule.workload.inputs)}

    def __call__(self, *inputs, out=None, **named):
        values = list(inputs)
        for name, value in sorted(named.items(), key=lambda item: self._places.get(item[0], -1)):
            if self._places.get(name) != len(values):
                raise TypeError(f"the kernel takes {', '.join(self._places)}, in this order or by name; '{name}' does not fit")
            values.append(value)
        if out is not None and not isinstance(out, (list, tuple)):
            out = [out]
        results = self._core.run(values, out)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self):
        return f"<Kernel {self.schedule.workload.label}>"
