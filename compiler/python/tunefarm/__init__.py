"""Tunefarm: compiles neural networks, and finds the fastest programs for them by measuring.

    import tunefarm as tf
    model = tf.compile("squeezenet.onnx", db="tune.db")
    scores = model(image)
"""

from ._core import Error, IllegalStep
from .farm import Farm, Job
from .models import Model, TensorInfo, aligned, compile, empty, zoo
from .progress import Progress
from .recorded import best, records
from .tuning import Tuned, tune

__all__ = ["Error", "Farm", "IllegalStep", "Job", "Model", "Progress", "TensorInfo", "Tuned", "aligned", "best", "compile",
           "empty", "records", "tune", "zoo"]
