"""Tunefarm: compiles neural networks, and finds the fastest programs for them by measuring.

    import tunefarm as tf
    model = tf.compile("squeezenet.onnx", db="tune.db")
    scores = model(image)
"""

from ._core import Error, IllegalStep, __version__
from .dtypes import dtype_name, numpy_dtype
from .expressions import Expr, Reduction, Tensor, compute, constant, placeholder, reduce_axis
from .farm import Farm, Job
from .functions import (abs, atan, ceil, clip, copysign, cos, erf, exp, expm1, floor, fma, fmod, log, log1p, max, maximum, min,
                        minimum, pow, prod, round, rsqrt, select, sigmoid, sin, sqrt, sum, tanh)
from .models import Model, TensorInfo, aligned, compile, empty, zoo
from .progress import Progress
from .recipes import Choice, Recipe, TunedKernel, choice, recipe, tune_kernel
from .recorded import best, records
from .schedules import Kernel, Loop, Measurement, Schedule, Stage
from .tuning import Tuned, tune
from .workloads import Task, Workload, tasks

# What hides a name of Python's own is not for `import *`.
__all__ = ["Choice", "Error", "Expr", "Farm", "IllegalStep", "Job", "Kernel", "Loop", "Measurement", "Model", "Progress", "Recipe",
           "Reduction", "Schedule", "Stage", "Task", "Tensor", "TensorInfo", "Tuned", "TunedKernel", "Workload", "aligned", "best",
           "choice", "clip", "compute", "constant", "dtype_name", "empty", "maximum", "minimum", "numpy_dtype", "placeholder",
           "recipe", "records", "reduce_axis", "select", "tasks", "tune", "tune_kernel", "zoo"]
