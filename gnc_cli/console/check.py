"""The comparisons of gates: `gnc2.lower >= 0.6 and (gnc3 < 0.05 or classes.missing == 0)`.

Python's own grammar, of which comparisons, `and`, `or`, numbers, texts, `true`, `false` and dotted
keys are allowed; nothing is evaluated as Python. The answer has three values: a key that names a
bracket {lower, upper} stands for an unknown number in between, so a comparison may be undecided. So
is one of a key that the row's `undecided` lists; any other missing or null value fails.
"""

import ast
import math
import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.parsing import number
from gnc_cli.records import look_up

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class Status(IntEnum):
    """What a gate says, from the worst to the best."""

    FAILED = 0
    UNDECIDED = 1
    PASSED = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """A status and the values that led to it."""

    status: Status
    details: tuple[str, ...]


@dataclass(frozen=True)
class Key:
    """A dotted key of the JSON result."""

    name: str


Operand = Key | float | str | bool
_UNKNOWN = (-math.inf, math.inf)
"""The bracket of what was not decided."""


@dataclass(frozen=True)
class Comparison:
    """`left operator right`."""

    left: Operand
    operator: str
    right: Operand

    def decide(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of a result."""
        left, left_detail = _value(row, self.left)
        right, right_detail = _value(row, self.right)
        missing = left is None or right is None
        status = Status.FAILED if missing else _compare(left, self.operator, right)
        return Finding(status, tuple(filter(None, (left_detail, right_detail))))


@dataclass(frozen=True)
class Joined:
    """Several parts: as bad as the worst of them (`and`), or as good as the best (`or`)."""

    parts: tuple["Expression", ...]
    all: bool = True

    def decide(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of a result."""
        findings = [part.decide(row) for part in self.parts]
        pick = min if self.all else max
        status = pick(finding.status for finding in findings)
        details = dict.fromkeys(detail for finding in findings for detail in finding.details)
        return Finding(status, tuple(details))


Expression = Comparison | Joined


def keys_in(expression: Expression) -> list[str]:
    """The keys that an expression names, in its order."""
    if isinstance(expression, Joined):
        return [key for part in expression.parts for key in keys_in(part)]
    sides = (expression.left, expression.right)
    return [side.name for side in sides if isinstance(side, Key)]


def parse(text: str) -> Expression:
    """Read an expression.

    Raises:
        UsageError: it is malformed; the message quotes it and says where.

    Example:
        >>> parse("gnc2.upper<=1")
        Comparison(left=Key(name='gnc2.upper'), operator='<=', right=1.0)
    """
    try:
        # Python would read the `.0` of `rows.0.d` as a number; a name it reads as part of the key.
        indexed = re.sub(r"(?<=[A-Za-z_])\.(\d+)(?=\W|$)", r"._\1", text.strip())
        return _expression(ast.parse(indexed, mode="eval").body)
    except UsageError as error:
        reason = str(error)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = f"it cannot be read ({getattr(error, 'msg', None) or 'it is too deep'})"
    raise UsageError(f"{text!r}: {reason}; write KEY<=VALUE with <= >= < > == or !=")


def _expression(node: ast.expr) -> Expression:
    if isinstance(node, ast.BoolOp):
        parts = tuple(_expression(value) for value in node.values)
        return Joined(parts, all=isinstance(node.op, ast.And))
    if not isinstance(node, ast.Compare):
        raise UsageError("there is no comparison operator")
    operands = [_operand(side) for side in (node.left, *node.comparators)]
    links = []
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        if type(operator) not in _OPERATORS:
            raise UsageError(f"{type(operator).__name__.lower()!r} is no comparison of numbers")
        links.append(Comparison(left, _OPERATORS[type(operator)], right))
    return links[0] if len(links) == 1 else Joined(tuple(links))


def _operand(node: ast.expr) -> Operand:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return {"true": True, "false": False}.get(node.id, Key(node.id))
    text = ast.unparse(node)
    if isinstance(node, ast.Attribute):
        parts = [part[1:] if part[1:].isdigit() else part for part in text.split(".")]
        if all(part.isidentifier() or part.isdigit() for part in parts):
            return Key(".".join(parts))
        raise UsageError(f"unexpected {text!r}")
    try:
        return number(text)
    except UsageError:
        raise UsageError(f"unexpected {text!r}") from None


def _value(row: dict[str, Any], operand: Operand) -> tuple[Any, str]:
    """The value (None where missing, null or no single value) and how to print that of a key."""
    if not isinstance(operand, Key):
        return operand, ""
    key = operand.name
    value = look_up(row, key)
    if any(f"{key}.".startswith(f"{name}.") for name in row.get("undecided") or ()):
        return _UNKNOWN, f"{key} was not decided in the time given"
    if isinstance(value, dict) and {"lower", "upper"} <= value.keys():
        lower, upper = value["lower"], value["upper"]
        if lower is None and upper is None:
            return None, f"{key} is null"
        ends = (-math.inf if lower is None else lower, math.inf if upper is None else upper)
        return ends, f"{key} in [{ends[0]:.10g}, {ends[1]:.10g}]"
    if isinstance(value, (dict, list)):
        return None, f"{key} has several parts; name one of them"
    if value is not None:
        return value, f"{key} = {value:.10g}" if type(value) is float else f"{key} = {value}"
    parent, _, last = key.rpartition(".")
    whole = look_up(row, parent) if parent else row
    named = isinstance(whole, dict) and last in whole
    return None, f"{key} is {'null' if named else 'missing'}"


def _compare(left: Any, operator: str, right: Any) -> Status:
    if _UNKNOWN in (left, right):
        return Status.UNDECIDED
    if isinstance(left, (str, bool)) or isinstance(right, (str, bool)):
        # Words and truth values have no order, and equal nothing of another kind.
        same = type(left) is type(right) and left == right
        ordered = {"==": same, "!=": type(left) is type(right) and not same}
        return Status.PASSED if ordered.get(operator, False) else Status.FAILED
    a, b = (x if isinstance(x, tuple) else (x, x) for x in (left, right))
    if operator in (">", ">="):
        a, b, operator = b, a, {">": "<", ">=": "<="}[operator]
    point = a[0] == a[1] == b[0] == b[1]
    apart = a[1] < b[0] or b[1] < a[0]
    proved, refuted = {
        "<": (a[1] < b[0], a[0] >= b[1]),
        "<=": (a[1] <= b[0], a[0] > b[1]),
        "==": (point, apart),
        "!=": (apart, point),
    }[operator]
    return Status.PASSED if proved else Status.FAILED if refuted else Status.UNDECIDED
