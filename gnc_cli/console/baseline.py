"""Comparison with an earlier result: `--baseline run.json --allow rho_one_vs_rest=1%`.

Only results of the same question are compared: the fields that are part of it are marked in the
records. A change in the good direction always passes; a number without a known direction may move
by the allowance either way.
"""

import math
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from gnc_cli.console.check import Comparison, Finding, Joined, Key, Status
from gnc_cli.errors import DataError, UsageError
from gnc_cli.parsing import number
from gnc_cli.records import flatten, look_up, rows_of


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
            DataError: the baseline has no row of the same question.
        """
        from gnc_cli.schemas import better, gate_keys, marked

        command = row["command"]
        question = ["command"]
        for key, parts in marked(command, "question").items():
            question += [f"{key}.{part}" for part in parts] or [key]
        same = self.baseline.row_for(
            {key: look_up(row, key) for key in question},
            {key: row.get(key) for key in marked(command, "label")},
        )
        earlier, way = look_up(same, self.key), better(gate_keys(command), self.key)
        if isinstance(earlier, dict):
            earlier = earlier.get("upper" if way == "lower" else "lower")
        if not isinstance(earlier, (int, float)) or isinstance(earlier, bool):
            return Finding(Status.FAILED, (f"{self.key} is no number in {self.baseline.name}",))
        slack = self.amount * abs(earlier) if self.relative else self.amount
        limits = [] if way == "lower" else [Comparison(Key(self.key), ">=", earlier - slack)]
        limits += [] if way == "higher" else [Comparison(Key(self.key), "<=", earlier + slack)]
        finding = Joined(tuple(limits)).find(row)
        return Finding(finding.status, (*finding.details, f"was {earlier:.10g}"))


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
        from gnc_cli.io.inputs import read_json

        result = read_json(path, "a file that --json wrote")
        if not isinstance(result, dict) or "schema" not in result or "command" not in result:
            raise DataError(f"{path!r} is not a result of gnc; give a file that --json wrote")
        rows = rows_of(result)
        if not rows:
            raise DataError(f"{path!r} has no rows to compare with; give another --baseline")
        return cls(PurePath(path).name, tuple(rows))

    def row_for(self, question: dict[str, Any], labels: dict[str, Any]) -> dict[str, Any]:
        """The row that agrees with every key of `question`.

        Args:
            question: what must be equal.
            labels: of several such rows take the one that shares most of these, the last at a tie.

        Raises:
            DataError: none does; the message names the first key that differs.
        """
        ours, differing = flatten(question), []
        equal: list[dict[str, Any]] = []
        for row in self.rows:
            theirs = flatten({key: look_up(row, key) for key in question})
            pairs = enumerate({**ours, **theirs})
            unequal = [(at, k) for at, k in pairs if not _same(ours.get(k), theirs.get(k))]
            equal += [] if unequal else [row]
            differing += unequal[:1]
        if equal:
            return max(reversed(equal), key=lambda row: _shared(labels, row))
        key = max(differing)[1]
        texts = dict.fromkeys(_text(look_up(row, key)) for row in self.rows)
        raise DataError(
            f"baseline {self.name!r} has {key} {', '.join(texts)}, this run "
            f"{_text(ours.get(key))}; compare results of equal {key}"
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


def _shared(labels: dict[str, Any], row: dict[str, Any]) -> int:
    return sum(v is not None and _same(row.get(key), v) for key, v in labels.items())


def _same(a: Any, b: Any) -> bool:
    # A temperature printed with fewer digits is still the same temperature.
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    return bool(a == b) or (numbers and math.isclose(a, b, rel_tol=1e-12))


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
