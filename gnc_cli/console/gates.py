"""Gates for CI: --min, --max and --check decide, per row, whether a result is good enough.

Everything that can be wrong with a gate is found before the long computation, also a key that no
result of the command has; what the result then says is a Verdict.
"""

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gnc_cli.console.baseline import Allowance, Baseline
from gnc_cli.console.check import Comparison, Expression, Finding, Key, Status, keys_in, parse
from gnc_cli.console.options import GateOptions, Rows
from gnc_cli.errors import ExitCode, UsageError
from gnc_cli.parsing import number
from gnc_cli.records import Result

_MOST_NAMED = 5
"""Rows that a verdict names."""


@dataclass(frozen=True)
class _Check:
    """A gate as the user wrote it and the expression it stands for."""

    text: str
    expression: Expression

    @property
    def keys(self) -> list[str]:
        return keys_in(self.expression)

    def find(self, row: dict[str, Any]) -> Finding:
        return self.expression.find(row)


_Gate = _Check | Allowance


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
    def read(cls, options: GateOptions) -> "Gates":
        """Read the options.

        Raises:
            UsageError: a malformed gate, or one of --baseline and --allow without the other.
            DataError: the baseline cannot be used.
        """
        gates: list[_Gate] = [_limit("--min", text, ">=") for text in options.minimum or ()]
        gates += [_limit("--max", text, "<=") for text in options.maximum or ()]
        gates += [_expression(text) for text in options.check or ()]
        if options.allow and options.baseline is None:
            raise UsageError("--allow compares with an earlier result; add --baseline run.json")
        earlier = None
        if options.baseline is not None:
            if not options.allow:
                raise UsageError(
                    f"--baseline {options.baseline} needs at least one --allow, "
                    "such as --allow rho_one_vs_rest=1%"
                )
            earlier = Baseline.read(options.baseline)
            gates += [earlier.allowance(text) for text in options.allow]
        return cls(tuple(gates), options.rows, earlier)

    def check(self, command: str, question: dict[str, Any]) -> None:
        """Refuse before the computation what no result of the command can answer.

        Args:
            command: such as `solve`.
            question: what a baseline must be an answer to, as far as it is known.

        Raises:
            UsageError: a gate on a key that no row has; the message names the nearest keys.
            DataError: the baseline is of another problem; the message names the key.
        """
        from gnc_cli.schemas import gate_keys, key_names, under

        known = {"properties": gate_keys(command)}
        for gate in self.gates:
            for key in gate.keys:
                schemas = under(known, key)
                if not schemas:
                    raise UsageError(f"{gate.text}: {_unknown(key, key_names(known))}")
                parts = key_names({"anyOf": schemas})
                if parts and not {"lower", "upper"} <= {*parts}:
                    named = ", ".join(f"{key}.{part}" for part in parts)
                    raise UsageError(f"{gate.text}: {key} has several parts; name one: {named}")
        if self.baseline is not None:
            self.baseline.row_for({"command": command} | question, {})

    def judge(self, rows: Sequence[dict[str, Any]], labels: Collection[str] = ()) -> list[Verdict]:
        """One verdict per gate.

        Args:
            rows: of a result, as JSON has them.
            labels: the keys that tell the rows apart.

        Raises:
            DataError: a row has no counterpart in the baseline.
        """
        return [self._judge(gate, rows, labels) for gate in self.gates]

    def _judge(
        self, gate: _Gate, rows: Sequence[dict[str, Any]], labels: Collection[str]
    ) -> Verdict:
        if not rows:
            return Verdict(gate.text, Status.FAILED, "the result has no rows")
        rows = rows[-1:] if self.rows is Rows.LAST else rows
        findings = [gate.find(row) for row in rows]
        best_or_worst = max if self.rows is Rows.ANY else min
        found = best_or_worst(findings, key=lambda f: f.status.rank)
        detail = ", ".join(found.details)
        for text in dict.fromkeys(text for row in rows for text in row.get("warnings") or ()):
            if any(re.match(rf"(\w+ and )?{key}\b", text) for key in gate.keys):
                detail += f"; {text.split(':')[0]}"
        if len(findings) > 1:
            number_passed = sum(f.status is Status.PASSED for f in findings)
            detail += f"; {number_passed} of {len(findings)} rows pass"
            others = [at for at, f in enumerate(findings) if f.status is not Status.PASSED]
            if number_passed and self.rows is Rows.ALL:
                detail += f", not {_named(rows, others, labels)}"
        return Verdict(gate.text, found.status, detail)


def _named(rows: Sequence[dict[str, Any]], places: Sequence[int], labels: Collection[str]) -> str:
    """Some of the rows, by what tells all of them apart."""
    values = {key: [row.get(key) for row in rows] for key in labels}
    distinct = {key: len({*map(str, column)}) for key, column in values.items()}
    alone = [key for key in labels if distinct[key] == len(rows)]
    keys = alone[:1] or [key for key in labels if distinct[key] > 1]
    names = [
        ", ".join(f"{key} {values[key][at]}" for key in keys if values[key][at] is not None)
        for at in places[:_MOST_NAMED]
    ]
    more = len(places) - len(names)
    return "; ".join([*names, *([f"{more} more"] if more else [])])


def _unknown(key: str, names: Sequence[str]) -> str:
    """What is wrong with a key that does not exist, and which are meant or exist."""
    text = key.lower()
    near = difflib.get_close_matches(key, names, n=3)
    near += [n for n in names if "." not in n and text in n.lower() and n not in near]
    said = f"the result has no key {key!r}"
    if near:
        return f"{said}; did you mean {' or '.join(near[:3])}?"
    figures = [name for name in names if name not in ("schema", "command", "version")]
    nearest = ", ".join(difflib.get_close_matches(key, figures, n=3, cutoff=0.0))
    listed = "docs/reference/json.md lists all (texts stand in quotes)"
    return f"{said}; the nearest are {nearest}; {listed}"


def exit_code(result: Result, verdicts: Sequence[Verdict]) -> ExitCode:
    """The status of a command.

    A failed gate outranks an undecided one and a missed target; an interruption outranks all, for
    its result is not final.
    """
    statuses = {verdict.status for verdict in verdicts}
    if result.interrupted:
        return ExitCode.INTERRUPTED
    if Status.FAILED in statuses:
        return ExitCode.GATE_FAILED
    if Status.UNDECIDED in statuses or result.target_missed:
        return ExitCode.UNDECIDED
    return ExitCode.OK


def _expression(text: str) -> _Check:
    try:
        return _Check(f"--check '{text}'", parse(text))
    except UsageError as error:
        raise UsageError(f"--check {error}") from None


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
