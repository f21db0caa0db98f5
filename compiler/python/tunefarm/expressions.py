"""Tensor expressions: what a kernel computes, written with Python's operators."""

import inspect
import itertools
import math
import operator

import numpy as np

from .dtypes import dtype_name

_ids = itertools.count()
INDEX = "i64"
FLOATS = ("f16", "bf16", "f32", "f64")
LARGEST_INDEX = 1 << 62


class Expr:
    """A scalar value with an element type: an index, an element of a tensor, or a value computed from these.

    Operators: + - * for all types, / for floats, // and % for integers (rounded down), comparisons, and & | ~ for conditions.
    Both operands must have the same type; Python numbers take the type of the other operand. Use select() instead of if.
    """

    __slots__ = ("text", "dtype", "_reads", "_bounds", "_unguarded")

    def __init__(self, text, dtype, reads=frozenset(), bounds=None, unguarded=()):
        self.text, self.dtype = text, dtype
        self._reads = reads  # tensors
        self._bounds = bounds  # of an index: the least and greatest value, or None
        self._unguarded = unguarded  # reads that may be outside of their tensor, as texts for people

    def astype(self, dtype):
        """The value converted to another type; floats are truncated to integers."""
        dtype = dtype_name(dtype)
        return self if dtype == self.dtype else made(f"cast<{dtype}>({self.text})", dtype, (self,))

    def __bool__(self):
        raise TypeError("this is an expression, which has no value yet: use tf.select(condition, a, b) instead of if, and & | ~ "
                        "instead of and, or, not")

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<{self.dtype} {self.text}>"

    def __add__(self, other):
        return arithmetic("+", self, other, lambda a, b: (a[0] + b[0], a[1] + b[1]))

    def __radd__(self, other):
        return arithmetic("+", other, self, lambda a, b: (a[0] + b[0], a[1] + b[1]))

    def __sub__(self, other):
        return arithmetic("-", self, other, lambda a, b: (a[0] - b[1], a[1] - b[0]))

    def __rsub__(self, other):
        return arithmetic("-", other, self, lambda a, b: (a[0] - b[1], a[1] - b[0]))

    def __mul__(self, other):
        return arithmetic("*", self, other, _corners(operator.mul))

    def __rmul__(self, other):
        return arithmetic("*", other, self, _corners(operator.mul))

    def __truediv__(self, other):
        return arithmetic("/", self, other)

    def __rtruediv__(self, other):
        return arithmetic("/", other, self)

    def __floordiv__(self, other):
        return arithmetic("//", self, other, lambda a, b: _corners(operator.floordiv)(a, b) if b[0] > 0 else None)

    def __mod__(self, other):
        return arithmetic("%", self, other, lambda a, b: (0, b[1] - 1) if b[0] > 0 else None)

    def __neg__(self):
        bounds = (-self._bounds[1], -self._bounds[0]) if self._bounds else None
        return made(f"(-{self.text})", self.dtype, (self,), bounds)

    def __lt__(self, other):
        return _compared("<", self, other)

    def __le__(self, other):
        return _compared("<=", self, other)

    def __gt__(self, other):
        return _compared("<", other, self)

    def __ge__(self, other):
        return _compared("<=", other, self)

    def __eq__(self, other):
        return _compared("==", self, other)

    def __ne__(self, other):
        return _compared("!=", self, other)

    def __and__(self, other):
        return _bits("&&", "bit_and", self, other)

    __rand__ = __and__

    def __or__(self, other):
        return _bits("||", "bit_or", self, other)

    __ror__ = __or__

    def __xor__(self, other):
        return _bits("!=", "bit_xor", self, other)

    def __invert__(self):
        if self.dtype != "bool":
            raise TypeError(f"~ is of conditions, but this is {self.dtype}")
        return made(f"(!{self.text})", "bool", (self,))


def made(text, dtype, operands, bounds=None):
    reads = frozenset().union(*(operand._reads for operand in operands))
    unguarded = tuple(itertools.chain.from_iterable(operand._unguarded for operand in operands))
    return Expr(text, dtype, reads, bounds, unguarded)


def _literal(value, dtype):
    if dtype == "bool":
        return Expr("true" if value else "false", "bool")
    if dtype in FLOATS:
        value = float(value)
        if math.isnan(value):
            return Expr(f"nan {dtype}", dtype)
        if math.isinf(value):
            return Expr(f"(-inf {dtype})" if value < 0 else f"inf {dtype}", dtype)
        text = f"{repr(abs(value))}{dtype}"
        return Expr(f"(-{text})" if value < 0 else text, dtype)
    if value != int(value):
        raise TypeError(f"{value} is not of type {dtype}: convert the other side by .astype(\"f32\")")
    value = int(value)
    text = f"{abs(value)}{'' if dtype == INDEX else dtype}"
    return Expr(f"(-{text})" if value < 0 else text, dtype, bounds=(value, value) if dtype == INDEX else None)


def _is_number(value):
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def pair(symbol, a, b):
    for value in (a, b):
        if isinstance(value, Reduction):
            raise TypeError("a reduction is a stage of its own: give it to compute(), and go on with the tensor that this makes")
        if isinstance(value, Tensor):
            raise TypeError(f"'{value.name}' is a tensor: read an element of it, as in {value.name}[i, j]")
        if not isinstance(value, Expr) and not _is_number(value):
            raise TypeError(f"{value!r} is neither an expression nor a number")
    if not isinstance(a, Expr):
        a = _literal(a, b.dtype)
    if not isinstance(b, Expr):
        b = _literal(b, a.dtype)
    if a.dtype != b.dtype:
        raise TypeError(f"the sides of {symbol} are {a.dtype} and {b.dtype}: convert one by .astype(\"{a.dtype}\")")
    return a, b


def _corners(apply):
    def bounds(a, b):
        values = [apply(x, y) for x in a for y in b]
        return min(values), max(values)

    return bounds


def arithmetic(symbol, a, b, bounds=None):
    a, b = pair(symbol, a, b)
    if symbol == "/" and a.dtype not in FLOATS:
        raise TypeError(f"/ is of floats, but the sides are {a.dtype}: use //, or .astype(\"f32\")")
    if symbol in ("//", "%") and a.dtype in FLOATS:
        raise TypeError(f"{symbol} is of whole numbers, but the sides are {a.dtype}: use /, or floor(a / b)")
    if a.dtype == "bool":
        raise TypeError(f"{symbol} is of numbers, but the sides are conditions: use .astype(\"i32\")")
    known = bounds(a._bounds, b._bounds) if bounds and a._bounds and b._bounds else None
    if known and max(map(abs, known)) > LARGEST_INDEX:
        known = None
    return made(f"({a.text} {symbol} {b.text})", a.dtype, (a, b), known)


def _compared(symbol, a, b):
    a, b = pair(symbol, a, b)
    return made(f"({a.text} {symbol} {b.text})", "bool", (a, b))


def _bits(of_conditions, function, a, b):
    a, b = pair(of_conditions, a, b)
    if a.dtype == "bool":
        return made(f"({a.text} {of_conditions} {b.text})", "bool", (a, b))
    if a.dtype in FLOATS:
        raise TypeError(f"{function} is of whole numbers and conditions, but the sides are {a.dtype}")
    return made(f"{function}({a.text}, {b.text})", a.dtype, (a, b))


class ReduceAxis(Expr):
    """An index that a reduction runs over: see reduce_axis."""

    __slots__ = ("extent",)

    def __init__(self, extent):
        super().__init__(f"r{next(_ids)}", INDEX, bounds=(0, extent - 1))
        self.extent = extent


def reduce_axis(extent):
    """An index from 0 to extent - 1, for sum, prod, max and min of one stage."""
    return ReduceAxis(_extent(extent))


def _extent(value):
    try:
        extent = operator.index(value)
    except TypeError:
        raise TypeError(f"an extent must be a whole number, not {value!r}") from None
    if extent < 1:
        raise ValueError(f"an extent must be at least 1, not {extent}")
    return extent


class Reduction:
    """The result of sum, prod, max and min; it must be the whole value of a stage."""

    def __init__(self, combiner, body, axes):
        self.combiner, self.body, self.axes = combiner, body, axes


class Tensor:
    """An input, a constant or a stage. Expressions read its elements: a[i, j]. It has `name`, `shape` and `dtype`."""

    def __init__(self, name, shape, dtype):
        self._id = next(_ids)
        self.name = name or f"tensor{self._id}"
        self.shape, self.dtype = tuple(shape), dtype
        self._text = f"b{self._id}"
        self._line = ""  # of the workload's text
        self._reads = frozenset()
        self.is_input = self.is_constant = False

    __iter__ = None

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        if len(indices) != len(self.shape):
            raise IndexError(f"'{self.name}' has {len(self.shape)} axes, but {len(indices)} indices are given")
        zero = Expr("0", INDEX, bounds=(0, 0))
        indices = [pair("an index", zero, index)[1] for index in indices]
        outside = [f"{self.name}[{', '.join(i.text for i in indices)}], axis {axis}: "
                   f"{'an index of unknown size' if not i._bounds else f'{i._bounds[0]} to {i._bounds[1]}'}, but it has {extent}"
                   for axis, (i, extent) in enumerate(zip(indices, self.shape))
                   if (i._bounds[0] < 0 or i._bounds[1] >= extent if i._bounds else not i._reads)]
        read = made(f"{self._text}[{', '.join(index.text for index in indices)}]", self.dtype, indices)
        return Expr(read.text, read.dtype, read._reads | {self}, None, read._unguarded + tuple(outside))

    def __repr__(self):
        return f"<Tensor {self.name}: {self.dtype}{list(self.shape)}>"


def _shape(shape):
    return tuple(map(_extent, shape if isinstance(shape, (list, tuple)) else (shape,)))


def _given(kind, shape, dtype, name, domain):
    shape, dtype = _shape(shape), dtype_name(dtype)
    low, high = domain
    tensor = Tensor(name, shape, dtype)
    tensor.is_input, tensor.is_constant = True, kind == "constant"
    tensor._line = f"{kind} {tensor._text}: {dtype}[{', '.join(map(str, shape))}] in {low:g}..{high:g}"
    return tensor


def placeholder(shape, dtype="f32", name=None, domain=(-1, 1)):
    """An input that is given at each call. domain: the range of random inputs for measurements; for integers, both ends are
    included."""
    return _given("input", shape, dtype, name, domain)


def constant(shape, dtype="f32", name=None, domain=(-1, 1)):
    """An input that does not change between calls, such as weights. Schedules may store it in another order."""
    return _given("constant", shape, dtype, name, domain)


def compute(shape, function, name=None):
    """A stage: the tensor whose element at i, j, … is function(i, j, …), an expression, or a reduction.

        rows = tf.compute((n, m), lambda i, j: (x[i, j] + x[i, j + 1]) / 2)

    Raises IndexError if the function may read outside a tensor; guard such reads with select(). Data-dependent indices may have
    any value: outside the tensor, they read 0.
    """
    shape = _shape(shape)
    places = [f"i{next(_ids)}" for _ in shape]
    try:
        inspect.signature(function).bind(*places)
    except TypeError:
        raise TypeError(f"the shape has {len(shape)} axes, so the function must take {len(shape)} indices") from None
    value = function(*(Expr(place, INDEX, bounds=(0, extent - 1)) for place, extent in zip(places, shape)))
    reduced = ""
    body = value
    if isinstance(value, Reduction):
        axes = ", ".join(f"{axis.text} < {axis.extent}" for axis in value.axes)
        reduced, body = f"reduce {value.combiner}[{axes}] ", value.body
    if not isinstance(body, Expr):
        raise TypeError(f"the function must give an expression, such as x[i] * 2, but gives {value!r}")
    if body._unguarded:
        raise IndexError(f"this may read outside of a tensor: {body._unguarded[0]}: guard it by select()")
    axes = ", ".join(f"{place} < {extent}" for place, extent in zip(places, shape))
    tensor = Tensor(name, shape, body.dtype)
    tensor._line = f"stage {tensor._text}: {body.dtype}[{axes}] = {reduced}{body.text}"
    tensor._reads = body._reads
    return tensor
