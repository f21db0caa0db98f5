"""Element types: Tunefarm's names, as in workloads, and NumPy's."""

import numpy as np

# bfloat16 has no NumPy type: arrays hold its bits as uint16.
_NUMPY = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
          "i64": "int64", "u64": "uint64", "f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64"}
_OWN = {numpy: own for own, numpy in _NUMPY.items() if own != "bf16"}


def dtype_name(dtype):
    """Tunefarm's name of an element type: "f32" for "f32", "float32", numpy.float32 or numpy.dtype("float32").

    Raises TypeError for an unknown type.
    """
    if isinstance(dtype, str) and dtype in _NUMPY:
        return dtype
    try:
        return _OWN[np.dtype(dtype).name]
    except (TypeError, KeyError):
        raise TypeError(f"{dtype!r} is not an element type; there are: {', '.join(_NUMPY)}") from None


def numpy_dtype(dtype):
    """The numpy.dtype of arrays of that element type; for bf16 it is uint16, for its bits."""
    return np.dtype(_NUMPY[dtype_name(dtype)])
