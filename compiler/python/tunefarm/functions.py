"""Functions of expressions. Some have the names of Python's own, which they are not: min, max, sum, abs, round, pow."""

import builtins

from .expressions import FLOATS, INDEX, LARGEST_INDEX, Expr, ReduceAxis, Reduction, made, pair


def select(condition, a, b):
    """`a` if the condition is true, otherwise `b`. Only elements of the selected operand are read, so select() can guard reads at
    the edge of a tensor: select((1 <= i) & (i <= n), x[i - 1], 0)."""
    if not isinstance(condition, Expr) or condition.dtype != "bool":
        raise TypeError("the condition of select must be a comparison of expressions")
    a, b = pair("select", a, b)
    bounds = (min(a._bounds[0], b._bounds[0]), max(a._bounds[1], b._bounds[1])) if a._bounds and b._bounds else None
    value = made(f"select({condition.text}, {a.text}, {b.text})", a.dtype, (condition, a, b), bounds)
    return Expr(value.text, value.dtype, value._reads, value._bounds, condition._unguarded)


def _least_or_greatest(function, choose, a, b):
    a, b = pair(function, a, b)
    bounds = (choose(a._bounds[0], b._bounds[0]), choose(a._bounds[1], b._bounds[1])) if a._bounds and b._bounds else None
    if a.dtype == INDEX and bounds is None and (a._bounds or b._bounds):
        known = a._bounds or b._bounds
        bounds = (-LARGEST_INDEX, known[1]) if choose is builtins.min else (known[0], LARGEST_INDEX)
    return made(f"{function}({a.text}, {b.text})", a.dtype, (a, b), bounds)


def minimum(a, b):
    """The smaller of two values; NaN if one is NaN."""
    return _least_or_greatest("min", builtins.min, a, b)


def maximum(a, b):
    """The greater of two values; NaN if one is NaN."""
    return _least_or_greatest("max", builtins.max, a, b)


def clip(value, low, high):
    """The value, limited to the range from low to high."""
    return minimum(maximum(value, low), high)


def abs(value):
    """The absolute value."""
    value, _ = pair("abs", value, 0)
    return made(f"abs({value.text})", value.dtype, (value,))


def _of_floats(name, count, doc):
    def function(*values):
        if len(values) != count:
            raise TypeError(f"{name}() takes {count} value{'s' if count > 1 else ''}, but {len(values)} are given")
        first = next((value for value in values if isinstance(value, Expr)), None)
        if first is None:
            raise TypeError(f"{name}() is of expressions; of numbers use Python's math.{name}")
        values = [pair(name, first, value)[1] for value in values]
        if first.dtype not in FLOATS and not (name == "pow" and first.dtype == INDEX):
            raise TypeError(f"{name}() is of floats, but this is {first.dtype}: use .astype(\"f32\")")
        return made(f"{name}({', '.join(value.text for value in values)})", first.dtype, values)

    function.__name__, function.__doc__ = name, doc
    return function


exp = _of_floats("exp", 1, "e to the power of a float.")
expm1 = _of_floats("expm1", 1, "exp(x) - 1 without cancellation.")
log = _of_floats("log", 1, "The natural logarithm of a float.")
log1p = _of_floats("log1p", 1, "log(1 + x) without cancellation.")
sqrt = _of_floats("sqrt", 1, "The square root of a float.")
rsqrt = _of_floats("rsqrt", 1, "1 / sqrt(x).")
tanh = _of_floats("tanh", 1, "The hyperbolic tangent of a float.")
erf = _of_floats("erf", 1, "The error function of a float.")
sigmoid = _of_floats("sigmoid", 1, "1 / (1 + exp(-x)).")
floor = _of_floats("floor", 1, "A float rounded down.")
ceil = _of_floats("ceil", 1, "A float rounded up.")
round = _of_floats("round", 1, "A float rounded to the nearest whole number, ties to even.")
sin = _of_floats("sin", 1, "The sine of a float in radians.")
cos = _of_floats("cos", 1, "The cosine of a float in radians.")
atan = _of_floats("atan", 1, "The arc tangent of a float, in radians.")
pow = _of_floats("pow", 2, "x to the power of y: floats, or two indices.")
fmod = _of_floats("fmod", 2, "x - y * trunc(x / y), exact.")
copysign = _of_floats("copysign", 2, "|x| with the sign of y.")
fma = _of_floats("fma", 3, "a * b + c, rounded once.")


def _reduction(combiner, body, axis):
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if not axes or not all(isinstance(one, ReduceAxis) for one in axes):
        raise TypeError(f"axis of {combiner}() must be one or more of reduce_axis(EXTENT)")
    if not isinstance(body, Expr):
        raise TypeError(f"{combiner}() is of an expression, such as a[i, k] * b[k, j]; for two values use minimum and maximum")
    return Reduction(combiner, body, axes)


def sum(body, axis):
    """The sum over one or more reduce axes: compute((n, m), lambda i, j: sum(a[i, k] * b[k, j], axis=k))."""
    return _reduction("sum", body, axis)


def prod(body, axis):
    """The product over one or more reduce axes."""
    return _reduction("prod", body, axis)


def max(body, axis):
    """The maximum over one or more reduce axes."""
    return _reduction("max", body, axis)


def min(body, axis):
    """The minimum over one or more reduce axes."""
    return _reduction("min", body, axis)
