"""The small language of gates: `gnc2.lower >= 0.6 and (gnc3 < 0.05 or classes.missing == 0)`.

    expression := conjunction ("or" conjunction)*
    conjunction := factor ("and" factor)*
    factor := "(" expression ")" | operand (operator operand)+
    operand := number | "text" | true | false | dotted key

Nothing is evaluated as Python. The answer has three values: a key that names a bracket {lower,
upper} stands for an unknown number in between, so a comparison may be undecided. A missing or null
value fails its comparison.
"""

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.parsing import number

__all__ = ["Both", "Comparison", "Either", "Expression", "Finding", "Key", "Status", "parse"]


class Status(Enum):
    """What a gate says; ordered from bad to good by `rank`."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    PASSED = "passed"

    @property
    def rank(self) -> int:
        """0 failed, 1 undecided, 2 passed."""
        return list(Status).index(self)


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


@dataclass(frozen=True)
class Comparison:
    """`left operator right`."""

    left: Operand
    operator: str
    right: Operand

    def find(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of a result."""
        details: list[str] = []
        sides = []
        for operand in (self.left, self.right):
            value: Any = operand
            if isinstance(operand, Key):
                value, detail = _look_up(row, operand.name)
                details.append(detail)
            sides.append(value)
        status = Status.FAILED if None in sides else _compare(sides[0], self.operator, sides[1])
        return Finding(status, tuple(details))


@dataclass(frozen=True)
class Both:
    """True where all parts are; as bad as the worst of them."""

    parts: tuple["Expression", ...]

    def find(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of a result."""
        return _joined([p.find(row) for p in self.parts], worst=True)


@dataclass(frozen=True)
class Either:
    """True where one part is; as good as the best of them."""

    parts: tuple["Expression", ...]

    def find(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of a result."""
        return _joined([p.find(row) for p in self.parts], worst=False)


Expression = Comparison | Both | Either


def parse(text: str) -> Expression:
    """Read an expression.

    Raises:
        UsageError: it is malformed; the message quotes it and says where.

    Example:
        >>> parse("gnc2.upper<=1")
        Comparison(left=Key(name='gnc2.upper'), operator='<=', right=1.0)
    """
    return _Parser(text).parse()


# Compiled where used, once: --help need not wait for it.
_TOKEN = r"""\s*(?:
      (?P<op><=|>=|==|!=|<|>) | (?P<paren>[()]) |
      (?P<number>[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?(?![\w.])) |
      (?P<word>[A-Za-z_]\w*(?:\.\w+)*) | (?P<text>"[^"]*"|'[^']*')
    )"""
_DEEPEST = 50


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        token = re.compile(_TOKEN, re.VERBOSE | re.ASCII)
        at = 0
        end = len(text.rstrip())
        while at < end:
            match = token.match(text, at)
            if match is None:
                raise self.error(f"cannot read {text[at:].strip()!r}")
            kind = str(match.lastgroup)
            self.tokens.append((kind, match[kind]))
            at = match.end()
        self.at = 0
        self.depth = 0

    def error(self, reason: str) -> UsageError:
        return UsageError(f"{self.text!r}: {reason}; write KEY<=VALUE with <= >= < > == or !=")

    def parse(self) -> Expression:
        result = self.expression()
        if self.at < len(self.tokens):
            raise self.error(f"unexpected {self.tokens[self.at][1]!r}")
        return result

    def take(self, *wanted: tuple[str, str]) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return True
        return False

    def expression(self) -> Expression:
        parts = [self.conjunction()]
        while self.take(("word", "or")):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def conjunction(self) -> Expression:
        parts = [self.factor()]
        while self.take(("word", "and")):
            parts.append(self.factor())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def factor(self) -> Expression:
        if self.take(("paren", "(")):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.error(f"more than {_DEEPEST} parentheses")
            inner = self.expression()
            if not self.take(("paren", ")")):
                raise self.error("a parenthesis is not closed")
            self.depth -= 1
            return inner
        operands = [self.operand()]
        operators: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "op":
            operators.append(self.tokens[self.at][1])
            self.at += 1
            operands.append(self.operand())
        if not operators:
            raise self.error("there is no comparison operator")
        links = zip(operands, operators, operands[1:], strict=False)
        parts = tuple(Comparison(*link) for link in links)
        return parts[0] if len(parts) == 1 else Both(parts)

    def operand(self) -> Operand:
        if self.at == len(self.tokens):
            raise self.error("it ends too early")
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return number(token)
        if kind == "text":
            return token[1:-1]
        if kind == "word" and token not in ("and", "or", "not"):
            return token == "true" if token in ("true", "false") else Key(token)
        raise self.error(f"unexpected {token!r}")


def _look_up(row: dict[str, Any], key: str) -> tuple[Any, str]:
    """The value (None where missing, null or no single value) and how to print it."""
    value: Any = row
    for part in key.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            import difflib

            names = difflib.get_close_matches(key, list(_keys(row)), n=1, cutoff=0.6)
            hint = f"; did you mean {names[0]}?" if names else ""
            return None, f"{key} is missing{hint}"
    if isinstance(value, dict) and {"lower", "upper"} <= value.keys():
        lower, upper = value["lower"], value["upper"]
        if lower is None and upper is None:
            return None, f"{key} is null"
        ends = (-math.inf if lower is None else lower, math.inf if upper is None else upper)
        return ends, f"{key} in [{ends[0]:.10g}, {ends[1]:.10g}]"
    if value is None:
        return None, f"{key} is null"
    if isinstance(value, (dict, list)):
        return None, f"{key} has several parts; name one of them"
    return value, f"{key} = {value:.10g}" if type(value) is float else f"{key} = {value}"


def _keys(value: Any, prefix: str = "") -> list[str]:
    if not isinstance(value, dict):
        return []
    names = [f"{prefix}{k}" for k in value]
    return names + [n for k, v in value.items() for n in _keys(v, f"{prefix}{k}.")]


def _compare(left: Any, operator: str, right: Any) -> Status:
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


def _joined(findings: list[Finding], *, worst: bool) -> Finding:
    pick = min if worst else max
    status = pick((f.status for f in findings), key=lambda s: s.rank)
    details = dict.fromkeys(d for f in findings for d in f.details)
    return Finding(status, tuple(details))
