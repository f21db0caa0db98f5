"""Networks as compiled models: building them, and calling them on arrays."""

import contextlib
import ctypes
import os
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np

from . import _core, programs
from .dtypes import dtype_name, numpy_dtype


class TensorInfo:
    """An input or output of a model: `name`, `dtype` ("f32"), `shape` and `dims`.

    `shape` has the maximum extents. `dims` has, for each extent, the name of its dimension, or None.
    """

    __slots__ = ("name", "dtype", "shape", "dims")

    def __init__(self, name, dtype, shape, dims):
        self.name, self.dtype, self.shape, self.dims = name, dtype, shape, dims

    def __repr__(self):
        extents = ", ".join(dim or str(extent) for dim, extent in zip(self.dims, self.shape))
        return f"{self.name}: {self.dtype}[{extents}]"


def empty(shape, dtype="f32"):
    """A new array for inputs and outputs, not initialised. It is row-major and aligned to 64 bytes, so models and kernels use
    it in place. numpy.empty() aligns to 16 bytes, and such inputs are copied at each call.

    shape: extents. dtype: "f32", "float32", numpy.float32, …; "bf16" gives uint16, for its bits.
    """
    return _core.empty([shape] if isinstance(shape, int) else list(shape), dtype_name(dtype))


def aligned(array):
    """Returns the array if models can use it in place (row-major, aligned to 64 bytes), otherwise such a copy of it."""
    array = np.asarray(array)
    if array.flags.c_contiguous and _core.is_aligned(array):
        return array
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


class Model:
    """A compiled network in this process: `model(x)`, `model(x, mask)`, `model(tokens=x)` or `model({"tokens": x})`.

    Values are NumPy arrays, objects with `__dlpack__` in this machine's memory (such as PyTorch tensors), or numbers in lists.
    Arrays must have the input's element type and shape. Otherwise, TypeError or ValueError says what was given, what is
    expected and what to do. Row-major arrays that are aligned to 64 bytes (see `empty` and `aligned`) are used in place; others
    are copied. bf16 is passed as uint16.

    The result is an array for a network with one output, a tuple for one with several, and a dict by name if the argument was
    a dict. Result arrays are aligned, and `__dlpack__` passes them on without a copy. `out=` gives arrays to write to: one, a
    list, or a dict by name. They must be row-major and share no memory with inputs.

    The GIL is released while the network runs, so several threads can run models in parallel. Calls of one model wait for
    each other. To run a model in parallel, load it several times; its weights are shared.
    """

    def __init__(self, folder, threads=1):
        self._core = _core.Model(os.fspath(folder), threads)
        self.folder = Path(folder)
        self.threads = threads
        self.report = None
        self.inputs = [TensorInfo(**info) for info in self._core.inputs]
        self.outputs = [TensorInfo(**info) for info in self._core.outputs]
        self._run = self._core.run
        self._places = {info.name: place for place, info in enumerate(self.inputs)}

    @classmethod
    def load(cls, folder, threads=1):
        """Loads the model that `compiler build -o FOLDER` or `compile(output=FOLDER)` wrote.

        threads: the number of threads; 0: the number of CPUs of this process. FileNotFoundError if there is no model. Error if
        it has an older version, or if this machine's CPU lacks a feature that it needs.
        """
        return cls(folder, threads)

    @property
    def dims(self):
        """The sizes that may differ between calls: {name: (minimum, maximum, multiple_of)}."""
        return self._core.dims

    @property
    def flops(self):
        """Floating-point operations of one call, at the maximum sizes."""
        return self._core.flops

    def set_affinity(self, cpus):
        """Pins thread t to CPU cpus[t % len(cpus)]; thread 0 is the calling thread. ValueError if a CPU may not be used."""
        self._core.set_affinity(list(cpus))

    def __call__(self, *inputs, out=None, **named):
        if len(inputs) == 1 and not named and isinstance(inputs[0], dict):
            return dict(zip((info.name for info in self.outputs), self._run(self._ordered((), inputs[0]), self._out(out))))
        values = self._ordered(inputs, named) if named else list(inputs)
        results = self._run(values, None if out is None else self._out(out))
        return results[0] if len(results) == 1 else tuple(results)

    def bench(self, runs=30, profile=False, dims=None):
        """Times the network on random inputs in a separate process, like `compiler bench`. Returns a dict with the times, with
        profile=True also those of each kernel. dims: sizes such as {"batch": 8}, for a model for a range of sizes."""
        return programs.run_json("compiler", "bench", self.folder, "--json",
                                 *programs.options(runs=runs, threads=max(self.threads, 1), profile=profile),
                                 *programs.network_options(dims=dims))

    def _ordered(self, inputs, named):
        values = list(inputs) + [None] * (len(self.inputs) - len(inputs))
        given = set(range(len(inputs)))
        for name, value in named.items():
            place = self._places.get(name)
            if place is None:
                raise TypeError(f"the model has no input '{name}'; its inputs are: {', '.join(map(repr, self.inputs))}")
            if place in given:
                raise TypeError(f"input '{name}' is given twice: once by its place, once by its name")
            given.add(place)
            values[place] = value
        if len(given) < len(self.inputs):
            missing = [repr(info) for place, info in enumerate(self.inputs) if place not in given]
            raise TypeError(f"the model needs {', '.join(missing)}, too")
        return values

    def _out(self, out):
        if out is None:
            return None
        if isinstance(out, dict):
            unknown = set(out) - {info.name for info in self.outputs}
            if unknown:
                raise TypeError(f"the model has no output '{unknown.pop()}'; its outputs are: "
                                f"{', '.join(map(repr, self.outputs))}")
            return [out.get(info.name) for info in self.outputs]
        return list(out) if isinstance(out, (list, tuple)) else [out]

    def __repr__(self):
        return f"<Model {self.folder}: ({', '.join(map(repr, self.inputs))}) -> ({', '.join(map(repr, self.outputs))})>"


@contextlib.contextmanager
def model_file(model):
    """The path of a network's file: of a path itself, of bytes or of an object with SerializeToString() for the time being."""
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
        return
    content = model.SerializeToString() if hasattr(model, "SerializeToString") else model
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"model is a {type(model).__name__}, but must be the path of an ONNX file, its bytes, or an "
                        "onnx.ModelProto")
    with tempfile.TemporaryDirectory(prefix="tunefarm-") as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(content)
        yield str(path)


def compile(model, target="host", db=None, *, output=None, threads=1, dims=None, at=None, inputs=None, expose=None,
            allow=None, device=None, strict=False, name=None, tls=None):
    """Compiles a network: `tf.compile("squeezenet.onnx", db="tune.db")` returns a Model that can be called.

    model: path of an ONNX file, its bytes, or an onnx.ModelProto.
    target: "host", "opencl" or "cuda:arch=sm_89" for the machine's first GPU of that kind, or another target such as
        "aarch64:cpu=cortex-a72". A model for another architecture, or for a GPU without a driver here, is not loaded: the
        result is then the path of its folder.
    db: the source of tuned schedules: FILE, "FILE.jsonl" or "tuner://HOST:PORT", or a list of these. None: untuned.
    output: the folder for model.so, model.h and tuning.lock. None: a temporary folder, which is deleted with the Model.
    threads: the number of threads of the schedules and of the Model.
    dims: {"batch": 8}, or {"batch": (1, 64)} for a model for all sizes from 1 to 64, (32, 512, 32) for multiples of 32.
    at: {"batch": [1, 8, 64]}: sizes of a dimension with a range that get specialised kernels.
    inputs: {"rate": 16000}: inputs that become constants. expose: names of inner values that become outputs, too.
    allow: methods with reduced precision, any of "winograd", "bf16", "fp16", "tf32".
    device: use only records of this device class. strict: raise Error unless every kernel has a record.
    tls: folder of a certificate, for a secured tuner.

    Model.report describes the build: kernels with the records that they use, and sizes in bytes. Raises Error, with the name,
    if the network has an operator or a size that cannot be compiled.
    """
    with model_file(model) as path:
        is_temporary = output is None
        if is_temporary:
            output = tempfile.mkdtemp(prefix="tunefarm-")
        name = name or (None if isinstance(model, (str, os.PathLike)) else "model")
        try:
            report = programs.run_json(
                "compiler", "build", path, "-o", os.fspath(output), "--json",
                *programs.options(target=target, db=db, threads=max(threads, 1), expose=expose, device=device,
                                  strict=strict, name=name, tls=tls),
                *programs.network_options(dims, at, inputs, allow))
            if not _is_for_this_machine(target):
                return Path(output)
            built = Model(output, threads)
        except BaseException:
            if is_temporary:
                shutil.rmtree(output, ignore_errors=True)
            raise
    if is_temporary:
        weakref.finalize(built, shutil.rmtree, output, ignore_errors=True)
    built.report = report
    return built


_DRIVERS = {"opencl": "libOpenCL.so.1", "cuda": "libcuda.so.1"}


def _is_for_this_machine(target):
    kind = target.split(":")[0].split("-")[0]
    if kind not in _DRIVERS:
        return kind in ("host", os.uname().machine)
    try:
        ctypes.CDLL(_DRIVERS[kind])
    except OSError:
        return False
    return True


def zoo(name, output, **options):
    """Writes a network of the zoo ("mlp", "squeezenet", …; `compiler zoo list` lists them) with random weights as an ONNX file.

    options: those of `compiler zoo`: batch=8, batch_name="batch", sequence=128, named_lengths=True, seed=1.
    Returns the path. Raises Error for a name that is not in the zoo.
    """
    programs.run("compiler", "zoo", name, "-o", os.fspath(output), *programs.options(**options))
    return Path(output)


__all__ = ["Model", "TensorInfo", "aligned", "compile", "empty", "numpy_dtype", "zoo"]
