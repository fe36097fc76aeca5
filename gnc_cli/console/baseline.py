"""Comparison with an earlier result: `--baseline run.json --allow rho_one_vs_rest=1%`.

Only results of the same question are compared: the keys of IDENTITY must be equal. A change in the
good direction always passes; a number without a known direction may move by the allowance either
way.
"""

import math
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from gnc_cli.console.check import Comparison, Finding, Joined, Key, Status
from gnc_cli.errors import DataError, UsageError
from gnc_cli.parsing import number
from gnc_cli.records import look_up, rows_of

IDENTITY = (
    "command",
    "problem",
    "d",
    "K",
    "tau",
    "weight_decay",
    "n",
    "split",
    "layer",
    "data.name",
    "data.image_size",
    "data.train_images",
    "data.test_images",
    "policy",
)
"""What two results must share to be comparable; a key that both lack counts as shared."""

_NEAREST = ("file", "snapshot", "epoch", "step", "name")
"""Among several comparable rows the one that shares most of these is taken, the last at a tie."""


@dataclass(frozen=True)
class Allowance:
    """How much worse than the baseline one key may be."""

    text: str
    key: str
    amount: float
    relative: bool
    baseline: "Baseline"

    @property
    def keys(self) -> list[str]:
        """The key that it is about."""
        return [self.key]

    def find(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of the new result.

        Of an earlier bracket the proved end is the claim to keep up with, so that a rerun with the
        same result passes with no allowance at all.

        Raises:
            DataError: the baseline has no row of the same identity.
        """
        from gnc_cli.schemas import better, gate_keys

        same = self.baseline.row_for({k: look_up(row, k) for k in IDENTITY}, row)
        earlier = look_up(same, self.key)
        way = better(gate_keys(str(row["command"])), self.key)
        if isinstance(earlier, dict):
            earlier = earlier.get("upper" if way == "lower" else "lower")
        if not isinstance(earlier, (int, float)) or isinstance(earlier, bool):
            return Finding(Status.FAILED, (f"{self.key} is no number in {self.baseline.name}",))
        slack = self.amount * abs(earlier) if self.relative else self.amount
        limits = [] if way == "lower" else [Comparison(Key(self.key), ">=", earlier - slack)]
        limits += [] if way == "higher" else [Comparison(Key(self.key), "<=", earlier + slack)]
        found = Joined(tuple(limits)).find(row)
        return Finding(found.status, (*found.details, f"was {earlier:.10g}"))


@dataclass(frozen=True)
class Baseline:
    """An earlier result."""

    name: str
    """Of its file, without folders."""
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: str) -> "Baseline":
        """Read what `--json` wrote.

        Raises:
            DataError: it cannot be read, or holds no rows.
        """
        from gnc_cli.io.outputs import read_result

        rows = rows_of(read_result(path))
        if not rows:
            raise DataError(f"{path!r} has no rows to compare with; give another --baseline")
        return cls(PurePath(path).name, tuple(rows))

    def row_for(
        self, identity: dict[str, Any], near: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The row that agrees with `identity` in every key given there.

        Args:
            identity: what must be equal.
            near: of several such rows take the one most like this one: the same epoch, say.

        Raises:
            DataError: none does; the message names the first key that differs.
        """
        differing: list[tuple[int, str]] = []
        equal: list[dict[str, Any]] = []
        for row in self.rows:
            asked = [k for k in IDENTITY if k in identity]
            unequal = [k for k in asked if not _same(look_up(row, k), identity[k])]
            if not unequal:
                equal.append(row)
            else:
                differing.append((IDENTITY.index(unequal[0]), unequal[0]))
        if equal:
            wanted = near or {}
            return max(reversed(equal), key=lambda row: _likeness(row, wanted))
        key = max(differing)[1]
        ours = identity[key]
        parts = [look_up(row, key) for row in self.rows]
        if isinstance(ours, dict):
            key, ours, parts = _first_difference(key, ours, parts)
        theirs = ", ".join(dict.fromkeys(_said(part) for part in parts))
        raise DataError(
            f"baseline {self.name!r} has {key} {theirs}, this run {_said(ours)}; "
            f"compare results of equal {key}"
        )

    def allowance(self, text: str) -> Allowance:
        """Read one `--allow KEY=10%` or `--allow KEY=0.01`.

        Raises:
            UsageError: malformed or negative.
        """
        key, equals, amount = (part.strip() for part in text.partition("="))
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", key, re.ASCII):
            raise UsageError(f"--allow {text!r} is not KEY=CHANGE; write --allow max_cosine=1%")
        relative = amount.endswith("%")
        try:
            value = number(amount.removesuffix("%"), least=0.0)
        except UsageError as error:
            raise UsageError(f"--allow {text!r}: {error}") from None
        return Allowance(f"--allow {text}", key, value / 100 if relative else value, relative, self)


def _likeness(row: dict[str, Any], other: dict[str, Any]) -> int:
    return sum(other.get(k) is not None and _same(row.get(k), other[k]) for k in _NEAREST)


def _first_difference(
    key: str, ours: dict[str, Any], theirs: list[Any]
) -> tuple[str, Any, list[Any]]:
    """Down to the first part of a policy that no row of the baseline shares."""
    held = [part if isinstance(part, dict) else {} for part in theirs]
    for name, value in ours.items():
        parts = [part.get(name) for part in held]
        if not any(_same(part, value) for part in parts):
            if isinstance(value, dict):
                return _first_difference(f"{key}.{name}", value, parts)
            return f"{key}.{name}", value, parts
    return key, ours, theirs


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return all(_same(a.get(name), b.get(name)) for name in a.keys() | b.keys())
    if isinstance(a, float) or isinstance(b, float):
        # A temperature printed with fewer digits is still the same temperature.
        both = isinstance(a, (int, float)) and isinstance(b, (int, float))
        return both and math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


def _said(value: Any) -> str:
    return "none" if value is None else str(value)
