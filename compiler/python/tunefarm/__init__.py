"""Tunefarm: compiles neural networks, and finds the fastest programs for them by measuring.

    import tunefarm as tf
    model = tf.compile("squeezenet.onnx", db="tune.db")
    scores = model(image)
"""

from ._core import Error, IllegalStep
from .models import Model, TensorInfo, aligned, compile, empty, zoo

__all__ = ["Error", "IllegalStep", "Model", "TensorInfo", "aligned", "compile", "empty", "zoo"]
