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

from gnc_cli.commands.expressions import Both, Comparison, Finding, Key, Status
from gnc_cli.errors import DataError, UsageError
from gnc_cli.parsing import number

__all__ = ["HIGHER_IS_BETTER", "IDENTITY", "LOWER_IS_BETTER", "Allowance", "Baseline", "rows_of"]

IDENTITY = ("command", "problem", "d", "K", "tau", "weight_decay", "n", "variant", "policy")
"""What two results must share to be comparable; a key that both lack counts as shared."""

HIGHER_IS_BETTER = frozenset(
    {"accuracy", "gnc2", "gnc2_ratio", "margins", "min_angle_deg", "ncc_accuracy", "rho_one_vs_one",
     "rho_one_vs_rest", "test_accuracy", "train_accuracy"}
)  # fmt: skip
"""First parts of keys that are better when larger."""

LOWER_IS_BETTER = frozenset(
    {"first_order_gain", "gap", "gnc1", "gnc3", "hardmax_gap", "max_cosine", "rattlers", "restarts",
     "seconds", "stationarity", "steps"}
)  # fmt: skip
"""First parts of keys that are better when smaller."""


@dataclass(frozen=True)
class Allowance:
    """How much worse than the baseline one key may be."""

    text: str
    key: str
    amount: float
    relative: bool
    baseline: "Baseline"

    def find(self, row: dict[str, Any]) -> Finding:
        """Decide for one row of the new result.

        Of an earlier bracket the proved end is the claim to keep up with, so that a rerun with the
        same result passes with no allowance at all.

        Raises:
            DataError: the baseline has no row of the same identity.
        """
        earlier: Any = self.baseline.row_for({k: row.get(k) for k in IDENTITY})
        for part in self.key.split("."):
            earlier = earlier.get(part) if isinstance(earlier, dict) else None
        first = self.key.split(".")[0]
        rises, falls = first in HIGHER_IS_BETTER, first in LOWER_IS_BETTER
        if isinstance(earlier, dict):
            earlier = earlier.get("upper" if falls else "lower")
        if not isinstance(earlier, (int, float)) or isinstance(earlier, bool):
            return Finding(Status.FAILED, (f"{self.key} is no number in {self.baseline.name}",))
        slack = self.amount * abs(earlier) if self.relative else self.amount
        limits = [] if falls else [Comparison(Key(self.key), ">=", earlier - slack)]
        limits += [] if rises else [Comparison(Key(self.key), "<=", earlier + slack)]
        found = Both(tuple(limits)).find(row)
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
        from gnc_cli.workflows.outputs import read_result

        rows = rows_of(read_result(path))
        if not rows:
            raise DataError(f"{path!r} has no rows to compare with; give another --baseline")
        return cls(PurePath(path).name, tuple(rows))

    def row_for(self, identity: dict[str, Any]) -> dict[str, Any]:
        """The row that agrees with `identity` in every key given there.

        Raises:
            DataError: none does; the message names the first key that differs.
        """
        differing: list[tuple[int, str]] = []
        for row in self.rows:
            unequal = [k for k in IDENTITY if k in identity and not _same(row.get(k), identity[k])]
            if not unequal:
                return row
            differing.append((IDENTITY.index(unequal[0]), unequal[0]))
        key = max(differing)[1]
        theirs = ", ".join(dict.fromkeys(_said(row.get(key)) for row in self.rows))
        raise DataError(
            f"baseline {self.name!r} has {key} {theirs}, this run {_said(identity[key])}; "
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


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a result's JSON, each with the keys that all share; one row where it has none."""
    if not isinstance(result.get("rows"), list):
        return [result]
    shared = {k: v for k, v in result.items() if k not in ("rows", "seconds", "out")}
    return [shared | row for row in result["rows"] if isinstance(row, dict)]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        # A temperature printed with fewer digits is still the same temperature.
        both = isinstance(a, (int, float)) and isinstance(b, (int, float))
        return both and math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


def _said(value: Any) -> str:
    return "none" if value is None else str(value)
