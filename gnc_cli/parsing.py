"""Forgiving numbers: `1e6`, `1_000_000`, `10k`, `3,5,8`, `2..64`, `2..512..2`, `1..0.001/13`, `2h`.

Text in, Python numbers out, for every command. Decimal arithmetic keeps `0.1..0.5..0.1` free of
drift and `1e22` a whole number.

Text files also have expressions: `1/3`, `-sqrt(5)/5`, `(1+sqrt(5))/4`. They consist of decimals,
`sqrt()`, parentheses, and `+ - * /`, but no quotient is divided again, which excludes dates.
Python's parser reads them, and nothing is executed. The value is enclosed in a ball of FLINT, of
relative width about 2^-1390, both of whose ends must have the same nearest float64.
"""

import ast
import contextlib
import math
import operator
import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

from gnc_cli.errors import UsageError

_NUMBER = re.compile(
    r"[-+]?([1-9]\d{0,2}(,\d{3})+(\.\d*)?|\d+(_\d+)*(\.\d*(_\d+)*)?|\.\d+(_\d+)*)"
    r"([eE][-+]?\d{1,4}|[kKMGB])?",
    re.ASCII,
)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(,[1-9]\d{0,2}(,\d{3})+)*", re.ASCII)
"""Numbers with commas between thousands, or a list of smaller ones."""
_COMMA = r",(?=\d{3}(,|$))"
"""Comma between thousands: three digits follow."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
"""Seconds in a unit of time."""
_PYTHON_SPELLING = str.maketrans(
    {"_": "", ",": "", "k": "e3", "K": "e3", "M": "e6", "G": "e9", "B": "e9"}
)
"""Replacements that spell a number as Python does; `m` is a unit of time, not a power of ten."""
_MAX_INTEGER = 2**63 - 1
"""Largest integer without a limit of its own: that of int64."""
_MAX_COUNT = 100_000
"""Largest number of values in a list: more are taken for a mistake."""
_MAX_QUOTE = 60
"""Largest number of characters of a value that a message quotes, so that it fits a line."""
_MAX_TEXT = 240
"""Largest number of characters of a text in a message; paths may be long."""
EXPRESSION_MARKS = re.compile(r"[/*(]")
"""Characters of expressions: each has one of these, and no decimal number does."""
_MAX_EXPRESSION = 200
"""Largest number of characters of an expression, which limits its depth and its digits."""
_BITS = 1400
"""Precision in bits. Beyond 1075 bits the difference of equal numbers is 0 to the nearest float64.
"""
_DIGITS = r"(?:\d+(?:\.\d*)?|\.\d+)"
_TOKENS = re.compile(rf"{_DIGITS}|sqrt(?=\s*\()|[-+*/() ]", re.ASCII)
DECIMAL = re.compile(rf"[-+]?({_DIGITS}(e[-+]?\d+)?|nan|inf|infinity)", re.ASCII | re.I)
"""A decimal number, or one that is not finite."""
_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def number(
    value: Any,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    greater_than: float | None = None,
    less_than: float | None = None,
) -> float:
    """Read one finite float.

    Args:
        value: a number, or its text, such as `0.5`, `1e-3`, `1_000`, `1,000`, `2.5k`, `1M` or `1G`.
        minimum: smallest value allowed.
        maximum: largest value allowed.
        greater_than: exclusive lower limit.
        less_than: exclusive upper limit.

    Raises:
        UsageError: not a finite number, or out of range.

    Example:
        >>> number("1_000.5"), number("2.5k"), number("7B")
        (1000.5, 2500.0, 7000000000.0)
    """
    text, value = _bare(value), float(_decimal(value))
    if minimum is not None and value < minimum:
        raise UsageError(f"{text} is too small; give at least {minimum:g}")
    if maximum is not None and value > maximum:
        raise UsageError(f"{text} is too large; give at most {_short(maximum)}")
    if greater_than is not None and value <= greater_than:
        raise UsageError(f"{text} is too small; give a number above {greater_than:g}")
    if less_than is not None and value >= less_than:
        raise UsageError(f"{text} is too large; give a number below {less_than:g}")
    return float(value)


def seconds(value: Any) -> float:
    """Read a time above 0, and return it in seconds: `90`, `90s`, `15m`, `2h`.

    Raises:
        UsageError: not a time, or not above 0.

    Example:
        >>> seconds("1.5m"), seconds(10)
        (90.0, 10.0)
    """
    amount, unit = value, "s"
    if isinstance(value, str) and value.strip()[-1:].isalpha():
        amount, unit = value.strip()[:-1], value.strip()[-1]
    try:
        seconds = number(amount) * _UNITS[unit]
    except (KeyError, UsageError):
        raise UsageError(
            f"{quote(value)} is not a time; give one such as 90, 90s, 15m or 2h"
        ) from None
    if seconds <= 0.0:
        raise UsageError(f"{_bare(value)} is too small; give a time above 0")
    return seconds


def integer(value: Any, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Read one whole number below 2**63, or up to `maximum`; `1e6` and `10.0` are whole.

    Raises:
        UsageError: not a whole number, or out of range.

    Example:
        >>> integer("1e6"), integer("10k"), integer(10.0)
        (1000000, 10000, 10)
    """
    return _whole(_decimal(value), _bare(value), minimum, maximum)


def integers(value: Any, *, minimum: int | None = None, maximum: int | None = None) -> list[int]:
    """Read distinct whole numbers: a text of items and ranges, a number, or an iterable of numbers.

    `2..8` counts by one, `2..512..2` by two, `10..1e6/6` takes six geometric points (rounded).
    Ranges may fall.

    Raises:
        UsageError: a malformed item, an empty list, a zero step, or more than 100,000 values.

    Example:
        >>> integers("3,5,10..10k/4"), integers([8, 1e3, 8])
        ([3, 5, 10, 100, 1000, 10000], [8, 1000])
    """
    values: dict[int, None] = {}
    for item in _items(value, minimum or 0):
        if not isinstance(item, str) or ".." not in item:
            points = [_decimal(item)]
        else:
            points = _range(item, default_step=Decimal(1))
            if "/" in item:
                points = [Decimal(round(point)) for point in points]
        values |= dict.fromkeys(_whole(point, _bare(item), minimum, maximum) for point in points)
        _check_count(values, value)
    return list(values)


def numbers(
    value: Any, *, greater_than: float | None = None, max_count: int = _MAX_COUNT
) -> list[float]:
    """Read floats: a text of items and ranges, a number, or an iterable of numbers.

    `0.1..0.5..0.1` steps, `1..0.001/13` takes thirteen geometric points with both ends exact.

    Raises:
        UsageError: a malformed item, an empty list, a range with neither step nor number of
            points, or more than `max_count` values.

    Example:
        >>> numbers("1..0.01/3"), numbers(0.5)
        ([1.0, 0.1, 0.01], [0.5])
    """
    values: list[float] = []
    for item in _items(value):
        is_range = isinstance(item, str) and ".." in item
        points = map(str, _range(item, None, max_count)) if is_range else [item]
        values += [number(point, greater_than=greater_than) for point in points]
        _check_count(values, value, max_count)
    return values


def device(text: str) -> str:
    """Check the name of a device: `auto`, `cpu`, `cuda` or `cuda:1`, which need not exist here.

    Raises:
        UsageError: anything else.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,9})?", text, re.ASCII):
        raise UsageError(f"{quote(text)} is not a device; give auto, cpu, cuda or cuda:1")
    return text


def scheduler(text: str) -> str:
    """Check the address of a Dask scheduler, such as `tcp://host:8786`, without a connection.

    Raises:
        UsageError: anything else.
    """
    if not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", text, re.ASCII):
        raise UsageError(f"{text!r} is not the address of a scheduler; give tcp://host:8786")
    return text


def pair(text: str) -> tuple[str, str]:
    """Split `KEY=VALUE` into both parts, stripped and not empty.

    Raises:
        UsageError: anything else.

    Example:
        >>> pair("epoch=0..100..10")
        ('epoch', '0..100..10')
    """
    key, _, value = (part.strip() for part in text.partition("="))
    if not key or not value:
        raise UsageError(f"{text!r} is not KEY=VALUE; write epoch=0..100..10 or split=test")
    return key, value


def prescribed_symmetry(text: str) -> tuple[str, int]:
    """Read a symmetry as its kind and its order: `antipodal` (2), or `cyclic:n` with n >= 2.

    Raises:
        UsageError: anything else.
    """
    kind, _, order = text.partition(":")
    if text == "antipodal":
        return text, 2
    if kind == "cyclic" and re.fullmatch(r"\d{1,9}", order, re.ASCII) and int(order) >= 2:
        return kind, int(order)
    raise UsageError(f"{text!r} is not a symmetry; give antipodal or cyclic:n with n >= 2")


def quote(value: Any) -> str:
    """Return a value for a message: a text in quotes, a long value shortened."""
    if isinstance(value, int) and value.bit_length() > 200:  # Python refuses to write 5,000 digits
        return f"a number of {int(value.bit_length() * math.log10(2.0)) + 1} digits"
    if isinstance(value, str):
        rest = f"... ({len(value)} characters)" if len(value) > _MAX_QUOTE else ""
        return repr(value[:_MAX_QUOTE]) + rest
    if getattr(value, "ndim", 0):
        return f"an array of shape {tuple(value.shape)}"
    text = " ".join(str(value).split())
    return text if len(text) <= _MAX_QUOTE else f"{text[:_MAX_QUOTE]}... ({type(value).__name__})"


def abridge(texts: Sequence[str], limit: int = 8) -> str:
    """Return the first texts and the number of the others for a message.

    The middle of a long text is omitted.

    >>> abridge(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    rest = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    short = [t if len(t) <= _MAX_TEXT else f"{t[:160]} ... {t[-60:]}" for t in texts[:limit]]
    return ", ".join(short) + rest


def _bare(value: Any) -> str:
    """Return a number, a time or a range for a message, without quotes."""
    text = quote(value)
    return text.replace("'", "") if isinstance(value, str) else text


def _items(value: Any, minimum: int = 0) -> list[Any]:
    """Return the items of a list of numbers, each at least `minimum`; refuse `1,000`."""
    if isinstance(value, str):
        text = value.strip()
        if _THOUSANDS.fullmatch(text) and (",0" in text or int(text.partition(",")[0]) < minimum):
            raise UsageError(
                f"{_bare(text)} is a list here, whose numbers stand between commas; leave them out "
                f"inside numbers: write {_bare(re.sub(_COMMA, '', text))}"
            )
        return value.split(",")
    if not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return [value]
    items = list(islice(value, _MAX_COUNT + 1))
    _check_count(items, value)
    if not items:
        raise UsageError("is an empty list; give at least one number")
    return items


def _decimal(value: Any) -> Decimal:
    """Return a number, or the number of a text, exactly."""
    if isinstance(value, str):
        stripped = value.strip()
        if _NUMBER.fullmatch(stripped):
            number = Decimal(stripped.translate(_PYTHON_SPELLING))
            if number.adjusted() > 300:
                raise UsageError(f"{_bare(value)} is too large; give at most 1e300")
            return number
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        with contextlib.suppress(TypeError):  # arrays and tensors raise it
            return Decimal(value.__index__())
    if not isinstance(value, (str, bytes, bool)) and not getattr(value, "ndim", 0):
        with contextlib.suppress(TypeError, ValueError):
            if math.isfinite(float(value)):
                return Decimal(repr(float(value)))
    raise UsageError(f"{quote(value)} is not a number; give one such as 10, 0.5, 1e6 or 10k")


def _short(value: float) -> str:
    """Format a limit as people write it: `1e6`, `2`, `3.14159`."""
    return f"{value:g}".replace("e+0", "e").replace("e+", "e")


def _whole(value: Decimal, text: str, minimum: int | None, maximum: int | None) -> int:
    if abs(value) > (_MAX_INTEGER if maximum is None else maximum):
        limit = "less than 2**63" if maximum is None else f"at most {_short(maximum)}"
        raise UsageError(f"{text} is too large; give {limit}")
    if value != value.to_integral_value():
        raise UsageError(f"{text} is not a whole number; give one such as 10, 1e6 or 10k")
    if minimum is not None and value < minimum:
        raise UsageError(f"{text} is too small; give at least {minimum}")
    return int(value)


def _range(item: str, default_step: Decimal | None, max_count: int = _MAX_COUNT) -> list[Decimal]:
    """Return the points of `a..b`, `a..b..step` or `a..b/n`, with b if a step reaches it."""
    body, slash, count = item.partition("/")
    ends = body.split("..")
    if slash and len(ends) == 2:
        first, last = map(_decimal, ends)
        return _geometric(first, last, integer(count, minimum=2), item, max_count)
    if slash or len(ends) not in (2, 3):
        raise UsageError(f"{item!r} is not a range; write 2..64, 2..512..2 or 1..0.001/13")
    first, last = _decimal(ends[0]), _decimal(ends[1])
    step = _decimal(ends[2]) if len(ends) == 3 else default_step
    if step is None:
        raise UsageError(f"{item!r} needs a step or a number of points: {item}..0.1 or {item}/10")
    if step == 0:
        raise UsageError(f"{item!r} has step 0; give a step such as 2")
    step = abs(step) if last >= first else -abs(step)
    if abs(last - first) >= abs(step) * max_count:
        raise UsageError(f"{item!r} has more than {max_count:,} values; use a larger step")
    return [first + i * step for i in range(int((last - first) / step) + 1)]


def _geometric(
    first: Decimal, last: Decimal, count: int, item: str, max_count: int
) -> list[Decimal]:
    if first * last <= 0:
        raise UsageError(f"{item!r} cannot be spaced geometrically; both ends must be above 0")
    if count > max_count:
        raise UsageError(f"{item!r} has more than {max_count:,} values; ask for fewer points")
    quotient = last / first
    inner = [first * quotient ** (Decimal(i) / (count - 1)) for i in range(1, count - 1)]
    # One correctly rounded float each, so that 1..0.01/3 reads 0.1 and not 0.09999...98.
    return [first, *(Decimal(repr(float(x))) for x in inner), last]


def _check_count(values: Collection[Any], value: Any, max_count: int = _MAX_COUNT) -> None:
    if len(values) > max_count:
        raise UsageError(f"{quote(value)} has more than {max_count:,} values; ask for fewer")


@lru_cache(maxsize=1 << 16)
def nearest_float(word: str) -> float:
    """Return the float64 nearest to a decimal number or an expression.

    Raises:
        ValueError: neither, too long, or not shown to be a finite real number.

    Example:
        >>> nearest_float("1/3") == 1 / 3, nearest_float("sqrt(4) - 2"), nearest_float("-1e-3")
        (True, 0.0, -0.001)
    """
    from flint import ctx

    if DECIMAL.fullmatch(word):
        return float(word)
    if len(word) > _MAX_EXPRESSION or _TOKENS.sub("", word):
        raise ValueError(f"{word[:_MAX_EXPRESSION]!r} is not a number")
    try:
        tree = ast.parse(word.strip(), mode="eval")
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"{word!r} is not a number") from error
    with ctx.workprec(_BITS):
        value = _ball(tree.body, word.strip())
        if not value.is_finite():
            raise ValueError(f"{word!r} cannot be shown to be real")
        ends = [end.fmpq() for end in (value.lower(), value.upper())]
    lower, upper = (float(Fraction(int(end.p), int(end.q))) for end in ends)
    if lower != upper:
        raise ValueError(f"{word!r} lies halfway between two float64")
    return lower + 0.0


def _ball(node: ast.expr, text: str) -> Any:
    """Return a ball around the value of a node of the tree of `text`, at FLINT's precision."""
    from flint import arb

    match node:
        case ast.Constant():
            whole, _, decimals = text[node.col_offset : node.end_col_offset].partition(".")
            return arb(int(whole + decimals)) / arb(10) ** len(decimals)
        case ast.UnaryOp(op=ast.UAdd()):
            return _ball(node.operand, text)
        case ast.UnaryOp(op=ast.USub()):
            return -_ball(node.operand, text)
        case ast.Call(func=ast.Name(), args=[argument]):
            return _ball(argument, text).sqrt()
        case ast.BinOp(op=ast.Div(), left=ast.BinOp(op=ast.Div())):
            raise ValueError(f"{text!r} divides a quotient")
        case ast.BinOp() if type(node.op) in _OPERATORS:
            operands = _ball(node.left, text), _ball(node.right, text)
            return _OPERATORS[type(node.op)](*operands)
    raise ValueError(f"{text!r} is not a number")
