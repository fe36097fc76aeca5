"""Gates for CI: limits on numbers of a result, and on their changes from an earlier one.

`--min` and `--max` limit a number of a row; `--baseline run.json --allow rho_one_vs_rest=1%` limits
its change.

A decision has three values. A bracket {lower, upper} stands for an unknown number between its ends,
so that a limit may be undecided, as may a key that the row lists under `undecided`. Any other
missing or null value fails.

Only results of the same question are compared: the records mark the fields that define it. A change
in the better direction always passes; a number without a known direction may change by the
allowance in either direction.

All errors in gates are found before the long computation, including keys that no result of the
command has. The outcome for a result is a `GateVerdict`.
"""

import difflib
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePath
from typing import Any

from gnc_cli.console.options import GatedRows, GateOptions
from gnc_cli.errors import DataError, ExitCode, UsageError
from gnc_cli.parsing import number
from gnc_cli.records import Result, flatten, look_up, results, rows_of

_MAX_NAMED = 5
"""Largest number of rows that a verdict names, so that it fits a line or two."""


class Status(IntEnum):
    """Outcome of a gate, from the worst to the best."""

    FAILED = 0
    UNDECIDED = 1
    PASSED = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Judgement:
    """A status and the value that led to it."""

    status: Status
    detail: str
    """Value, with its key, in words."""


@dataclass(frozen=True)
class Gate:
    """One option that limits a number of the result."""

    text: str
    """The option as the user wrote it."""
    key: str
    """Dotted key of the limited number."""
    decide: Callable[[dict[str, Any]], Judgement]
    """Function that judges one row of a result."""


@dataclass(frozen=True)
class Baseline:
    """An earlier result."""

    name: str
    """Name of its file, without folders."""
    rows: tuple[dict[str, Any], ...]
    """Rows of its JSON, each with the keys that all share."""

    @classmethod
    def read(cls, path: str) -> "Baseline":
        """Read a file that `--json` wrote.

        Raises:
            DataError: the file cannot be read, or has no rows.
        """
        from gnc_cli.io.inputs import read_json

        result = read_json(path, "a file that --json wrote")
        if not isinstance(result, dict) or "schema" not in result or "command" not in result:
            raise DataError(f"{path!r} is not a result of gnc; give a file that --json wrote")
        rows = rows_of(result)
        if not rows:
            raise DataError(f"{path!r} has no rows to compare with; give another --baseline")
        return cls(PurePath(path).name, tuple(rows))

    def counterpart(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row that answers the same question as a new one.

        Raises:
            DataError: there is no such row.
        """
        question, records = ["command"], results(row["command"])
        marks = {k: v for record in records for k, v in record.marked("question").items()}
        for part, inner in marks.items():
            question += [f"{part}.{name}" for name in inner] or [part]
        labels = {name: row.get(name) for record in records for name in record.marked("label")}
        return self.row_for({name: look_up(row, name) for name in question}, labels)

    def row_for(self, question: dict[str, Any], labels: dict[str, Any]) -> dict[str, Any]:
        """Return the row that agrees with every key of `question`.

        Args:
            question: keys and values that must be equal.
            labels: choose among several such rows: the one with most of these values, the last one
                at a tie.

        Raises:
            DataError: no row agrees; the message names the first key that differs.
        """
        new, differing = flatten(question), []
        equal: list[dict[str, Any]] = []
        for row in self.rows:
            old = flatten({key: look_up(row, key) for key in question})
            keys = enumerate({**new, **old})
            unequal = [(i, key) for i, key in keys if not _same(new.get(key), old.get(key))]
            equal += [] if unequal else [row]
            differing += unequal[:1]
        if equal:
            return max(reversed(equal), key=lambda row: _count_shared(labels, row))
        key = max(differing)[1]
        texts = dict.fromkeys(_text(look_up(row, key)) for row in self.rows)
        raise DataError(
            f"baseline {self.name!r} has {key} {', '.join(texts)}, this run "
            f"{_text(new.get(key))}; compare results of equal {key}"
        )


@dataclass(frozen=True)
class GateVerdict:
    """Outcome of one gate for a result."""

    gate: str
    """The option as the user wrote it."""
    status: Status
    detail: str
    """Values that decided."""

    @property
    def line(self) -> str:
        """One line for stderr."""
        return f"gate {self.status}: {self.gate} ({self.detail})"


@dataclass(frozen=True)
class Gates:
    """All gates of one command line."""

    gates: tuple[Gate, ...]
    rows: GatedRows
    """Rows that must pass."""
    baseline: Baseline | None
    """Earlier result to compare with; None without `--baseline`."""

    @classmethod
    def read(cls, options: GateOptions) -> "Gates":
        """Read the options.

        Raises:
            UsageError: a gate is malformed, or --baseline or --allow is given without the other.
            DataError: the baseline cannot be used.
        """
        gates = [_limit("--min", text) for text in options.minimum or ()]
        gates += [_limit("--max", text) for text in options.maximum or ()]
        if options.allow and options.baseline is None:
            raise UsageError("--allow requires --baseline run.json; add --baseline run.json")
        baseline = None
        if options.baseline is not None:
            if not options.allow:
                raise UsageError(
                    f"--baseline {options.baseline} requires at least one --allow, "
                    "such as --allow max_cosine=1%"
                )
            baseline = Baseline.read(options.baseline)
            gates += [_allowance(text, baseline) for text in options.allow]
        return cls(tuple(gates), options.rows, baseline)

    def check(self, command: str, question: dict[str, Any]) -> None:
        """Refuse gates that no result of the command can satisfy, before the computation.

        Args:
            command: such as `solve`.
            question: values of the options that a baseline must share.

        Raises:
            UsageError: a gate has a key that no row has; the message names similar keys.
            DataError: the baseline is a result of another problem; the message names the key.
        """
        from gnc_cli.keys import find_schemas, gate_keys, key_names

        schema = {"properties": gate_keys(results(command))}
        for gate in self.gates:
            schemas = find_schemas(schema, gate.key)
            if not schemas:
                raise UsageError(f"{gate.text}: {_explain_unknown(gate.key, key_names(schema))}")
            parts = key_names({"anyOf": schemas})
            if parts and not {"lower", "upper"} <= {*parts}:
                keys = ", ".join(f"{gate.key}.{part}" for part in parts)
                raise UsageError(f"{gate.text}: {gate.key} has several parts; name one: {keys}")
        if self.baseline is not None:
            self.baseline.row_for({"command": command} | question, {})

    def judge(
        self, rows: Sequence[dict[str, Any]], labels: Collection[str] = ()
    ) -> list[GateVerdict]:
        """Return one verdict per gate.

        Args:
            rows: rows of a result, as JSON has them.
            labels: keys that distinguish the rows.

        Raises:
            DataError: a row has no counterpart in the baseline.
        """
        return [self._judge(gate, rows, labels) for gate in self.gates]

    def _judge(
        self, gate: Gate, rows: Sequence[dict[str, Any]], labels: Collection[str]
    ) -> GateVerdict:
        """Return the verdict of the worst row, or the best with `--rows any`, with its warnings."""
        if not rows:
            return GateVerdict(gate.text, Status.FAILED, "the result has no rows")
        rows = rows[-1:] if self.rows is GatedRows.LAST else rows
        judgements = [gate.decide(row) for row in rows]
        best_or_worst = max if self.rows is GatedRows.ANY else min
        decisive = best_or_worst(judgements, key=lambda judgement: judgement.status)
        detail = decisive.detail
        for text in dict.fromkeys(text for row in rows for text in row.get("warnings") or ()):
            if re.match(rf"(\w+(, | and ))*{gate.key}\b", text):
                detail += f"; {text.split(':')[0]}"
        if len(judgements) > 1:
            number_passed = sum(j.status is Status.PASSED for j in judgements)
            detail += f"; {number_passed} of {len(judgements)} rows pass"
            others = [i for i, j in enumerate(judgements) if j.status is not Status.PASSED]
            if number_passed and self.rows is GatedRows.ALL:
                detail += f", not {_label_rows(rows, others, labels)}"
        return GateVerdict(gate.text, decisive.status, detail)


def _label_rows(
    rows: Sequence[dict[str, Any]], indices: Sequence[int], labels: Collection[str]
) -> str:
    """Name some of the rows by one key that distinguishes all of them, else by several keys."""
    values = {key: [row.get(key) for row in rows] for key in labels}
    distinct = {key: len({*map(str, column)}) for key, column in values.items()}
    unique = [key for key in labels if distinct[key] == len(rows)]
    keys = unique[:1] or [key for key in labels if distinct[key] > 1]
    names = [
        ", ".join(f"{key} {values[key][i]}" for key in keys if values[key][i] is not None)
        for i in indices[:_MAX_NAMED]
    ]
    rest = len(indices) - len(names)
    return "; ".join([*names, *([f"{rest} more"] if rest else [])])


def _explain_unknown(key: str, names: Sequence[str]) -> str:
    """Explain that a key does not exist, with similar keys if there are any."""
    similar = [name for name in names if "." not in name and key.lower() in name.lower()]
    similar += [n for n in difflib.get_close_matches(key, names, n=3) if n not in similar]
    suggestion = f"did you mean {' or '.join(similar[:3])}?" if similar else ""
    return f"the result has no key {key!r}; {suggestion or 'docs/reference/json.md lists all'}"


def exit_code(result: Result, verdicts: Sequence[GateVerdict]) -> ExitCode:
    """Return the exit status of a command.

    A failed gate outranks an undecided one and a missed target. An interruption outranks all, since
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


def _limit(option: str, text: str) -> Gate:
    key, limit = _key_and_number(option, text, "KEY=VALUE", "max_cosine=0.5")
    low, high = (limit, math.inf) if option == "--min" else (-math.inf, limit)
    return Gate(f"{option} {text}", key, lambda row: _decide(row, key, low, high))


def _decide(row: dict[str, Any], key: str, low: float, high: float) -> Judgement:
    """Decide whether a number of a row lies between two limits."""
    value = look_up(row, key)
    if _is_undecided(row, key):
        return Judgement(Status.UNDECIDED, f"{key} was not decided in the time given")
    bracket = [value.get("lower"), value.get("upper")] if isinstance(value, dict) else [None, None]
    if bracket != [None, None]:
        lower = -math.inf if bracket[0] is None else bracket[0]
        upper = math.inf if bracket[1] is None else bracket[1]
        detail = f"{key} in [{lower:.10g}, {upper:.10g}]"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        lower, upper = value, value
        detail = f"{key} = {value:.10g}" if isinstance(value, float) else f"{key} = {value}"
    elif isinstance(value, (str, bool)):
        return Judgement(Status.FAILED, f"{key} = {value}, which is not a number")
    else:
        parent, _, last = key.rpartition(".")
        whole = look_up(row, parent) if parent else row
        null = isinstance(value, dict) or (isinstance(whole, dict) and last in whole)
        return Judgement(Status.FAILED, f"{key} is {'null' if null else 'missing'}")
    passed, failed = low <= lower and upper <= high, upper < low or high < lower
    status = Status.PASSED if passed else Status.FAILED if failed else Status.UNDECIDED
    return Judgement(status, detail)


def _is_undecided(row: dict[str, Any], key: str) -> bool:
    return any(f"{key}.".startswith(f"{name}.") for name in row.get("undecided") or ())


def _allowance(text: str, baseline: Baseline) -> Gate:
    """Return the gate that compares one key with the baseline.

    An earlier bracket counts with its proved end, so that a rerun with the same result passes
    without any allowance.
    """
    key, amount = _key_and_number("--allow", text, "KEY=CHANGE", "max_cosine=1%", minimum=0.0)

    def decide(row: dict[str, Any]) -> Judgement:
        from gnc_cli.keys import better, gate_keys

        old_row = baseline.counterpart(row)
        direction = better(gate_keys(results(row["command"])), key)
        if _is_undecided(old_row, key):
            return Judgement(Status.UNDECIDED, f"{key} was not decided in {baseline.name}")
        old = look_up(old_row, key)
        if isinstance(old, dict):
            old = old.get("upper" if direction == "lower" else "lower")
        if not isinstance(old, (int, float)) or isinstance(old, bool):
            return Judgement(Status.FAILED, f"{key} is not a number in {baseline.name}")
        slack = amount / 100 * abs(old) if text.rstrip().endswith("%") else amount
        low = -math.inf if direction == "lower" else old - slack
        high = math.inf if direction == "higher" else old + slack
        judgement = _decide(row, key, low, high)
        return Judgement(judgement.status, f"{judgement.detail}, was {old:.10g}")

    return Gate(f"--allow {text}", key, decide)


def _key_and_number(
    option: str, text: str, form: str, example: str, minimum: float | None = None
) -> tuple[str, float]:
    """Read a key of the result and a number after `=`; only a change may end in `%`."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not re.fullmatch(r"[A-Za-z_][\w -]*(\.\w[\w -]*)*", key, re.ASCII):
        raise UsageError(f"{option} {text!r} is not {form}; write {option} {example}")
    try:
        return key, number(value.removesuffix("%" if option == "--allow" else ""), minimum=minimum)
    except UsageError as error:
        raise UsageError(f"{option} {text!r}: {error}") from None


def _count_shared(labels: dict[str, Any], row: dict[str, Any]) -> int:
    return sum(v is not None and _same(row.get(key), v) for key, v in labels.items())


def _same(a: Any, b: Any) -> bool:
    # A temperature that is printed with fewer digits is still the same temperature.
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    return bool(a == b) or (numbers and math.isclose(a, b, rel_tol=1e-12))


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
