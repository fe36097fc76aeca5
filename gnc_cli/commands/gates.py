"""Gates for CI: --min, --max and --check decide, per row, whether a result is good enough.

Everything that can be wrong with a gate by itself is found when it is read, before the long
computation; what the result then says is a Verdict.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gnc_cli.commands import expressions
from gnc_cli.commands.baseline import Baseline
from gnc_cli.commands.expressions import Comparison, Finding, Key, Status
from gnc_cli.errors import ExitCode, UsageError
from gnc_cli.options import Rows
from gnc_cli.parsing import number

__all__ = ["Gates", "Verdict", "exit_code"]


class _Gate(Protocol):
    @property
    def text(self) -> str: ...

    def find(self, row: dict[str, Any]) -> Finding: ...


@dataclass(frozen=True)
class _Check:
    """A gate as the user wrote it and the expression it stands for."""

    text: str
    expression: expressions.Expression

    def find(self, row: dict[str, Any]) -> Finding:
        return self.expression.find(row)


@dataclass(frozen=True)
class Verdict:
    """What one gate says about a result."""

    gate: str
    """The option as the user wrote it."""
    status: Status
    detail: str
    """The values that decided."""

    @property
    def line(self) -> str:
        """One line for stderr."""
        return f"gate {self.status.value}: {self.gate} ({self.detail})"


@dataclass(frozen=True)
class Gates:
    """All gates of one command line, read and checked."""

    gates: tuple[_Gate, ...]
    rows: Rows
    baseline: Baseline | None

    @classmethod
    def read(
        cls,
        minimum: Sequence[str] | None = None,
        maximum: Sequence[str] | None = None,
        check: Sequence[str] | None = None,
        rows: Rows = Rows.LAST,
        baseline: str | None = None,
        allow: Sequence[str] | None = None,
    ) -> "Gates":
        """Read the options.

        Raises:
            UsageError: a malformed gate, or one of --baseline and --allow without the other.
            DataError: the baseline cannot be used.
        """
        gates: list[_Gate] = [_limit("--min", text, ">=") for text in minimum or ()]
        gates += [_limit("--max", text, "<=") for text in maximum or ()]
        gates += [_Check(f"--check '{text}'", expressions.parse(text)) for text in check or ()]
        earlier = None
        if allow and baseline is None:
            raise UsageError("--allow compares with an earlier result; add --baseline run.json")
        if baseline is not None:
            if not allow:
                raise UsageError(
                    f"--baseline {baseline} needs at least one --allow, "
                    "such as --allow rho_one_vs_rest=1%"
                )
            earlier = Baseline.read(baseline)
            gates += [earlier.allowance(text) for text in allow]
        return cls(tuple(gates), rows, earlier)

    def expect(self, identities: Sequence[dict[str, Any]]) -> None:
        """Check before the computation that the rows to come have a row of the baseline.

        Raises:
            DataError: the baseline is of another problem; the message names the key.
        """
        if self.baseline is not None:
            for identity in identities[-1:] if self.rows is Rows.LAST else identities:
                self.baseline.row_for(identity)

    def judge(self, rows: Sequence[dict[str, Any]]) -> list[Verdict]:
        """One verdict a gate.

        Raises:
            DataError: a row has no counterpart in the baseline.
        """
        return [self._judge(gate, rows) for gate in self.gates]

    def _judge(self, gate: _Gate, rows: Sequence[dict[str, Any]]) -> Verdict:
        if not rows:
            return Verdict(gate.text, Status.FAILED, "the result has no rows")
        findings = [gate.find(row) for row in (rows[-1:] if self.rows is Rows.LAST else rows)]
        best_or_worst = max if self.rows is Rows.ANY else min
        found = best_or_worst(findings, key=lambda f: f.status.rank)
        detail = ", ".join(found.details)
        if len(findings) > 1:
            number_passed = sum(f.status is Status.PASSED for f in findings)
            detail += f"; {number_passed} of {len(findings)} rows pass"
        return Verdict(gate.text, found.status, detail)


def exit_code(ended: ExitCode, verdicts: Sequence[Verdict]) -> ExitCode:
    """The status of a command whose computation ended with `ended`.

    A failed gate outranks an undecided one and a missed target; an interruption outranks all, for
    its result is not final.
    """
    if ended is ExitCode.INTERRUPTED:
        return ended
    statuses = {v.status for v in verdicts}
    if Status.FAILED in statuses:
        return ExitCode.GATE_FAILED
    if Status.UNDECIDED in statuses:
        return ExitCode.UNDECIDED
    return ended


def _limit(option: str, text: str, operator: str) -> _Check:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", key, re.ASCII):
        raise UsageError(f"{option} {text!r} is not KEY=VALUE; write {option} max_cosine=0.5")
    try:
        limit = number(value)
    except UsageError as error:
        raise UsageError(f"{option} {text!r}: {error}") from None
    return _Check(f"{option} {text}", Comparison(Key(key), operator, limit))
