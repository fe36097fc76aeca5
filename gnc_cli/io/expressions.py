"""Numbers of text files that are written as expressions: `1/3`, `-sqrt(5)/5`, `(1+sqrt(5))/4`.

Decimals, `sqrt()`, parentheses, and `+ - * /`, where no quotient is divided again: so a date
with a year is refused. Python's parser reads the expression, and nothing is executed. The value is
enclosed in a ball of FLINT, of relative width 2^-1390 or so, both of whose ends must have the same
nearest float64.
"""

import ast
import operator
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

MARKS = re.compile(r"[/*(]")
"""Every expression has one of these; no decimal number has."""
_LONGEST = 200
"""Characters of an expression: limits its depth and its digits."""
_BITS = 1400
"""Precision. Beyond 1075 bits a difference of equal numbers is 0 to the nearest float64."""
_DECIMAL = r"(?:\d+(?:\.\d*)?|\.\d+)"
_TOKENS = re.compile(rf"{_DECIMAL}|sqrt(?=\s*\()|[-+*/() ]", re.ASCII)
PLAIN = re.compile(rf"[-+]?({_DECIMAL}(e[-+]?\d+)?|nan|inf|infinity)", re.ASCII | re.I)
"""A decimal number, or one that is not finite."""
_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@lru_cache(maxsize=1 << 16)
def nearest_float(word: str) -> float:
    """The float64 nearest to a decimal number or an expression.

    Raises:
        ValueError: neither, too long, or not shown to be a finite real number.

    Example:
        >>> nearest_float("1/3") == 1 / 3, nearest_float("sqrt(4) - 2"), nearest_float("-1e-3")
        (True, 0.0, -0.001)
    """
    from flint import ctx

    if PLAIN.fullmatch(word):
        return float(word)
    if len(word) > _LONGEST or _TOKENS.sub("", word):
        raise ValueError(f"{word[:_LONGEST]!r} is no number")
    try:
        tree = ast.parse(word.strip(), mode="eval")
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"{word!r} is no number") from error
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
    """A ball around the value of a node of the tree of `text`, at FLINT's precision."""
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
    raise ValueError(f"{text!r} is no number")
