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
    """A stage after the steps so far: `name`, `place` ("root", "inlined", or "CONSUMER LOOP"), `loops`, outermost first."""

    __slots__ = ("name", "place", "loops")

    def __init__(self, name, place, loops):
        self.name, self.place = name, place
        self.loops = [Loop(**loop) for loop in loops]

    def __repr__(self):
        return f"{self.name} at {self.place}: {' '.join(map(repr, self.loops))}"


def _list(values):
    return values if isinstance(values, str) else ",".join(map(str, values)) if isinstance(values, (list, tuple)) else str(values)


class Schedule:
    """A workload with steps that say how it is computed. An immutable value: each step is checked, and returns a new Schedule.

    Steps name stages by their tensors, or as in the canonical text: t0, t1, …. A stage initially has the loops i0, i1, … and, for a
    reduction, r0, r1, …. split("t0", "i0", 8) creates i0.0 (the outer loop) and i0.1. `stages` shows the current stages and loops.
    An illegal step raises IllegalStep with the facts and with what would be legal.
    """

    def __init__(self, workload, problem, text):
        self.workload, self._problem, self.text = workload, problem, text

    def step(self, text):
        """Adds a step in the text form: "annotate t0 i1 vectorize"."""
        return Schedule(self.workload, self._problem, self._problem.checked(self.text + text + "\n"))

    def _step(self, word, *parts):
        return self.step(" ".join([word, *(_list(part) if isinstance(part, (list, tuple)) or hasattr(part, "__index__") else
                                           str(self.workload.name_of(part)) for part in parts)]))

    def split(self, stage, loop, factors, tail="guard"):
        """Splits a loop into an outer loop and one loop for each factor (a number, or a list, outermost first). Factors need not
        divide the extent. tail: "guard" masks iterations beyond it, "shift" moves the last tile back (element-wise stages only)."""
        return self._step("split", stage, loop, factors, tail)

    def fuse(self, stage, *loops):
        """Fuses adjacent loops, outermost first, into one; i0 and i1 become "i0*i1"."""
        return self._step("fuse", stage, list(loops))

    def reorder(self, stage, *loops):
        """Puts all loops of the stage in this order, outermost first."""
        return self._step("reorder", stage, list(loops))

    def parallel(self, stage, loop):
        """Runs the loop's iterations in parallel on the threads."""
        return self._step("annotate", stage, loop, "parallel")

    def vectorize(self, stage, loop):
        """Turns an innermost loop, of at most 64 iterations, into vector instructions."""
        return self._step("annotate", stage, loop, "vectorize")

    def bind(self, stage, loop, axis):
        """Maps the loop's iterations to blocks or threads of a GPU: axis is "grid_x", "grid_y", "grid_z", "thread_x", "thread_y" or
        "thread_z"."""
        return self._step("annotate", stage, loop, axis)

    def unroll(self, stage, loop):
        """Unrolls a loop completely."""
        return self._step("annotate", stage, loop, "unroll")

    def unroll_limit(self, stage, statements):
        """Unrolls innermost loops of the stage while this makes at most `statements` copies of its body."""
        return self._step("pragma", stage, "unroll_limit", statements)

    def compute_at(self, stage, consumer, loop, scope="global"):
        """Computes the stage inside that loop of a later stage: only the part that one iteration needs. Use it before any split of
        the stage. scope: "global" (memory), "register", or "shared" (by a GPU's block)."""
        return self._step("compute_at", stage, consumer, loop, scope)

    def inline(self, stage):
        """Substitutes an element-wise stage into the stages that read it."""
        return self._step("inline", stage)

    def root(self, stage):
        """Undoes compute_at."""
        return self._step("root", stage)

    def cache_read(self, source, reader, layout="row_major", scope="global"):
        """Adds a stage SOURCE.pack that copies the source in this layout, such as [1, 0] or "1,0,1:16", for that reader."""
        return self._step("cache_read", source, reader, layout, scope)

    def cache_write(self, stage):
        """Moves the computation into a new stage, STAGE.acc, which can be placed separately; the original stage copies it."""
        return self._step("cache_write", stage)

    def rfactor(self, stage, loop):
        """Moves the partial results over one reduce loop into a new stage, STAGE.rf."""
        return self._step("rfactor", stage, loop)

    def layout_rewrite(self, buffer, layout):
        """Stores a constant, or a stage that is not an output, in this layout."""
        return self._step("layout_rewrite", buffer, layout)

    def recompute(self, stage, reader):
        """Makes the reader read a copy, STAGE.again, which is computed separately."""
        return self._step("recompute", stage, reader)

    def rescale(self, maximum, sum, result, block):
        """Computes a softmax of rows, and the values that it weights, `block` keys at a time. maximum: the maximum scores; sum:
        the sums of exp(score - maximum); result: the weighted values, or `sum` again for the sums alone. Inline the element-wise
        stages between them first."""
        return self._step("rescale", maximum, sum, result, block)

    def pipeline(self, stage, loop, stages, bulk=False):
        """Prefetches the tiles that the loop copies into shared memory, stages - 1 iterations ahead. bulk: the GPU's copy engine
        copies whole tiles of inputs (sm_90 and later)."""
        return self._step("pipeline", stage, loop, stages, *(["bulk", 1] if bulk else []))

    def tensorize(self, stage, loop, unit):
        """Replaces the three innermost loops, from `loop` on, by a matrix instruction, such as "mma_m16n8k16_f16"."""
        return self._step("tensorize", stage, loop, unit)

    def raster(self, stage, group):
        """Runs the blocks of the grid in groups of `group` rows, down the columns of each group."""
        return self._step("raster", stage, group)

    def cross_thread(self, stage, axis, threads):
        """Adds a loop over threads (thread_x, thread_y or thread_z) inside the stage, in which other stages can be placed."""
        return self._step("cross_thread", stage, axis, threads)

    def storage_align(self, buffer, axis, factor, offset=0):
        """Pads the rows of a stage to a multiple of factor elements, plus offset."""
        return self._step("storage_align", buffer, axis, factor, offset)

    def winograd(self, stage, tile):
        """Computes a 3x3 or 5x5 convolution of stride 1 by Winograd's algorithm, with tiles of 2, 4 or 6; reduces accuracy."""
        return self._step("winograd", stage, tile)

    def matrices(self, stage, rows, terms, order="straight", part=0):
        """Turns a sum of products into a product of gathered matrices STAGE.a and STAGE.b, in parts of `part` terms (0: all)."""
        return self._step("matrices", stage, rows, terms, order, part)

    def narrow(self, buffer, dtype):
        """Stores an f32 constant or element-wise stage as "bf16" or "f16"; reduces accuracy."""
        return self._step("narrow", buffer, dtype_name(dtype))

    def offset(self, stage, factor, value):
        """Shifts an operand of a sum of products of bytes by 128 or -128, which changes its signedness; exact."""
        return self._step("offset", stage, factor, value)

    @property
    def target(self):
        """The target, as canonical text."""
        return self._problem.target

    @property
    def stages(self):
        """The stages, in order, with their loops."""
        return [Stage(**stage) for stage in self._problem.stages(self.text)]

    def loops(self, stage):
        """The names of a stage's loops, outermost first. Raises LookupError if there is no such stage."""
        name = self.workload.name_of(stage)
        for found in self.stages:
            if found.name == name:
                return [loop.name for loop in found.loops]
        raise LookupError(f"there is no stage {name}; there are: {', '.join(found.name for found in self.stages)}")

    def ir(self, after=None):
        """The loop IR after the last pass, or after the pass with that name ("vectorize"). With "all": after each pass, as a dict by
        pass. Raises Error if the schedule does not compile."""
        workers = programs.workers()
        if after is None:
            return workers.show(self._problem, self.text, False)
        passes = dict(workers.passes(self._problem, self.text, after))
        return passes if after == "all" else passes[after]

    def assembly(self):
        """The assembly of the machine code; for a GPU, CUDA C or OpenCL C."""
        return programs.workers().show(self._problem, self.text, True)

    def compile(self):
        """Compiles to a Kernel, which is called on arrays. Raises Error if it does not compile, or is for another machine."""
        return Kernel(self)

    def measure(self, check=True, samples=12, seconds=0.025, _sketch_hash="", _choices=()):
        """Times the kernel on this machine, in the tuner's sandbox. Returns a Measurement.

        check: first compare the answers with those of plain loops. samples: the maximum number of samples; seconds: the time of
        samples after which no more are taken. Operands come from beyond the L2 cache, as in a network. A crash or a wrong answer
        is the outcome of the Measurement. Raises Error if the kernel does not compile, or this machine cannot measure.
        """
        workers = programs.workers()
        self._problem.check_runs_here()
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
    """The result of measuring a kernel.

    outcome: "ok", or why there is no time: "wrong_output", "crashed", "timed_out", … with `detail`. median_ns: the time of one run;
    interval_ns: its 95% bounds; samples_ns: the time of one run in each sample. max_error: the largest error of an element,
    relative to its bound. device: the CPU. untuned: whether it is the compiler's default schedule. schedule: its text. `json`: the
    form in which databases export it.
    """

    def __init__(self, core):
        self._core = core

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._core, name)

    @property
    def ok(self):
        """Whether there is a time, and the answers were correct."""
        return self._core.outcome == "ok"

    def __repr__(self):
        if not self.ok:
            return f"<Measurement {self.outcome}: {self.detail}>"
        low, high = self.interval_ns
        return f"<Measurement {duration(self.median_ns)} ({duration(low)} to {duration(high)})>"


class Kernel:
    """A compiled workload in this process: `kernel(a, b)`, with arrays in the order of the workload's inputs, or by their names.

    Arrays and `out=` are as in Model. Constants are passed like inputs, and packed at each call as the schedule requires. The
    result is an array, or a tuple of several. The GIL is released while the kernel runs.
    """

    def __init__(self, schedule):
        self.schedule = schedule
        problem = schedule._problem
        problem.check_runs_here()
        self._core = programs.workers().build(problem, schedule.text).load(problem.threads)
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
