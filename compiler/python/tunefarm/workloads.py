"""Workloads: kernels as values, by what they compute."""

from . import _core, models, programs
from .expressions import Tensor
from .models import TensorInfo
from .schedules import Schedule

_ALONE = ([], [], 0)  # layouts of inputs and outputs, and reuse distance, of a kernel that no network runs


class Workload:
    """The computation of a kernel, made from tensors, `tf.Workload(out)`, or from its text, `tf.Workload.parse(text)`.

    outputs: one or more tensors. label: a name for display; by default, the names of the outputs.
    `str(workload)` is its canonical text. In it, inputs are p0, p1, … and stages t0, t1, …, in the order of their creation;
    `name_of(tensor)` returns a tensor's name. Raises ValueError for an invalid workload, for example if an output is an input.
    """

    def __init__(self, *outputs, label=None):
        if not outputs or not all(isinstance(output, Tensor) for output in outputs):
            raise TypeError("outputs of a workload are tensors that compute() made")
        if inputs := [output for output in outputs if output.is_input]:
            raise ValueError(f"'{inputs[0].name}' is an input: an output is a tensor that compute() made")
        tensors, waiting = set(), list(outputs)
        while waiting:
            tensor = waiting.pop()
            if tensor not in tensors:
                tensors.add(tensor)
                waiting += tensor._reads
        ordered = sorted(tensors, key=lambda tensor: tensor._id)
        inputs = [tensor for tensor in ordered if tensor.is_input]
        stages = [tensor for tensor in ordered if not tensor.is_input]
        lines = ["workload v1", *(tensor._line for tensor in inputs + stages),
                 "output " + ", ".join(output._text for output in outputs)]
        self._names = {tensor: f"{letter}{place}" for letter, group in (("p", inputs), ("t", stages))
                       for place, tensor in enumerate(group)}
        self._set("\n".join(lines) + "\n", {}, label or "+".join(output.name for output in outputs), _ALONE)
        self.inputs = [TensorInfo(t.name, t.dtype, t.shape, (None,) * len(t.shape)) for t in inputs]
        self.outputs = [TensorInfo(t.name, t.dtype, t.shape, (None,) * len(t.shape)) for t in outputs]

    @classmethod
    def _of_task(cls, task):
        """The workload of a line of `compiler tasks --json`, as its network runs it."""
        sizes = dict(pair.split("=") for pair in task["binding"].split(",") if pair)
        return cls._of_text(task["workload"], {name: int(size) for name, size in sizes.items()}, task["label"],
                            (task["in_layouts"], task["out_layouts"], task["reuse_distance_bytes"]))

    @classmethod
    def parse(cls, text, label="", **sizes):
        """Parses a workload (docs/reference/languages/workload.md), as `compiler show --workload` prints it. sizes: a value for
        each named dimension, d0=8. Raises ValueError with line and column."""
        return cls._of_text(text, sizes, label, _ALONE)

    @classmethod
    def _of_text(cls, text, sizes, label, around):
        made = cls.__new__(cls)
        made._names = {}
        made._set(text, sizes, label, around)
        for kind in ("inputs", "outputs"):
            setattr(made, kind, [TensorInfo(info["name"], info["dtype"], info["shape"], (None,) * len(info["shape"]))
                                 for info in getattr(made._problem(), kind)])
        return made

    def _set(self, text, sizes, label, around):
        self.label = label
        self._around = around
        self._sizes = sizes
        self._given = text
        self._problems = {}
        self.text = _core.canonical_workload(text)
        self._problem()

    def _problem(self, target="host", threads=1, allow=()):
        allow = (allow,) if isinstance(allow, str) else tuple(allow)
        key = (target, threads, allow)
        if key not in self._problems:
            self._problems[key] = _core.Problem(self._given, self._sizes, target, threads, list(allow), self.label,
                                                *self._around)
        return self._problems[key]

    @property
    def key(self):
        """The SHA-256 of the canonical text, hexadecimal; the workload's key in databases."""
        return self._problem().key

    @property
    def flops(self):
        """Floating-point operations of one run; a fused multiply-add counts as two."""
        return self._problem().flops

    @property
    def bytes(self):
        """The bytes that one run must move: each input and output once."""
        return self._problem().bytes

    def name_of(self, tensor):
        """The name of a tensor in the canonical text: "p0", "t1". A name is returned unchanged."""
        if not isinstance(tensor, Tensor):
            return tensor
        try:
            return self._names[tensor]
        except KeyError:
            raise ValueError(f"{tensor!r} is not part of this workload") from None

    def schedule(self, target="host", threads=1, allow=(), text=None):
        """A Schedule of the workload: without steps, or with those of a text (docs/reference/languages/schedule.md).

        target, allow: as in `compile`. threads: the number of threads of parallel loops. Raises ValueError or IllegalStep.
        """
        problem = self._problem(target, threads, allow)
        return Schedule(self, problem, "schedule v1\n" if text is None else problem.checked(text))

    def default_schedule(self, target="host", threads=1, allow=()):
        """The schedule that the compiler uses without tuning."""
        problem = self._problem(target, threads, allow)
        return Schedule(self, problem, problem.default_schedule())

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<Workload {self.label or self.key[:12]}: {len(self.inputs)} inputs, {self.flops:.3g} FLOP>"

    def __eq__(self, other):
        return isinstance(other, Workload) and (self.text, self._sizes, self._around) == (other.text, other._sizes,
                                                                                          other._around)

    def __hash__(self):
        return hash(self.text)


class Task:
    """A kernel of a network: `label`, `op`, `count` (calls per run of the network), `flops`, `bytes`, `nodes` (of the network's
    graph), `key`, and `workload`: a Workload with the layouts and the reuse distance that it has in the network."""

    def __init__(self, line):
        self.label, self.op, self.count, self.nodes = line["label"], line["op"], line["count"], line["nodes"]
        self.flops, self.bytes, self.key = line["flops"], line["bytes"], line["key"]
        self.workload = Workload._of_task(line)

    def __repr__(self):
        return f"<Task {self.label}, {self.count} times, {self.flops:.3g} FLOP>"


def tasks(model, target="host", *, dims=None, inputs=None, expose=None):
    """The kernels of a network as a list of Task. Tune one with `tune_kernel(task.workload, …, db=)`; `compile(db=)` then uses the
    result. Arguments as in `compile`.
    """
    with models.model_file(model) as path:
        report = programs.run_json("compiler", "tasks", path, "--json", *programs.options(target=target, expose=expose),
                                   *programs.network_options(dims=dims, inputs=inputs))
    return [Task(line) for line in report["tasks"]]
