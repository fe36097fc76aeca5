"""Gates for CI: --min and --max decide, per row, whether a result is good enough, and
`--baseline run.json --allow rho_one_vs_rest=1%` compares it with an earlier one.

A decision has three values: a key that names a bracket {lower, upper} stands for an unknown number
in between, so a limit may be undecided. So is that of a key that the row's `undecided` lists; any
other missing or null value fails.

Only results of the same question are compared: the fields that are part of it are marked in the
records. A change in the good direction always passes; a number without a known direction may move
by the allowance either way.

Everything that can be wrong with a gate is found before the long computation, also a key that no
result of the command has; what the result then says is a Verdict.
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

_MOST_NAMED = 5
"""Rows that a verdict names."""


class Status(IntEnum):
    """What a gate says, from the worst to the best."""

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


@dataclass(frozen=True)
class Gate:
    """One option."""

    text: str
    """As the user wrote it."""
    key: str
    """Of the number that it limits."""
    decide: Callable[[dict[str, Any]], Judgement]
    """Decides for one row of a result."""


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

    def earlier(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row of the same question as a new one.

        Raises:
            DataError: there is none.
        """
        question, records = ["command"], results(row["command"])
        marks = {k: v for record in records for k, v in record.marked("question").items()}
        for part, inner in marks.items():
            question += [f"{part}.{name}" for name in inner] or [part]
        labels = {name: row.get(name) for record in records for name in record.marked("label")}
        return self.row_for({name: look_up(row, name) for name in question}, labels)

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


@dataclass(frozen=True)
class GateVerdict:
    """What one gate says about a result."""

    gate: str
    """The option as the user wrote it."""
    status: Status
    detail: str
    """The values that decided."""

    @property
    def line(self) -> str:
        """One line for stderr."""
        return f"gate {self.status}: {self.gate} ({self.detail})"


@dataclass(frozen=True)
class Gates:
    """All gates of one command line, read and checked."""

    gates: tuple[Gate, ...]
    rows: GatedRows
    baseline: Baseline | None

    @classmethod
    def read(cls, options: GateOptions) -> "Gates":
        """Read the options.

        Raises:
            UsageError: a malformed gate, or one of --baseline and --allow without the other.
            DataError: the baseline cannot be used.
        """
        gates = [_limit("--min", text) for text in options.minimum or ()]
        gates += [_limit("--max", text) for text in options.maximum or ()]
        if options.allow and options.baseline is None:
            raise UsageError("--allow requires --baseline run.json; add --baseline run.json")
        earlier = None
        if options.baseline is not None:
            if not options.allow:
                raise UsageError(
                    f"--baseline {options.baseline} requires at least one --allow, "
                    "such as --allow rho_one_vs_rest=1%"
                )
            earlier = Baseline.read(options.baseline)
            gates += [_allowance(text, earlier) for text in options.allow]
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
        from gnc_cli.keys import gate_keys, key_names, under

        known = {"properties": gate_keys(results(command))}
        for gate in self.gates:
            schemas = under(known, gate.key)
            if not schemas:
                raise UsageError(f"{gate.text}: {_unknown(gate.key, key_names(known))}")
            parts = key_names({"anyOf": schemas})
            if parts and not {"lower", "upper"} <= {*parts}:
                named = ", ".join(f"{gate.key}.{part}" for part in parts)
                raise UsageError(f"{gate.text}: {gate.key} has several parts; name one: {named}")
        if self.baseline is not None:
            self.baseline.row_for({"command": command} | question, {})

    def judge(
        self, rows: Sequence[dict[str, Any]], labels: Collection[str] = ()
    ) -> list[GateVerdict]:
        """One verdict per gate.

        Args:
            rows: of a result, as JSON has them.
            labels: the keys that tell the rows apart.

        Raises:
            DataError: a row has no counterpart in the baseline.
        """
        return [self._judge(gate, rows, labels) for gate in self.gates]

    def _judge(
        self, gate: Gate, rows: Sequence[dict[str, Any]], labels: Collection[str]
    ) -> GateVerdict:
        if not rows:
            return GateVerdict(gate.text, Status.FAILED, "the result has no rows")
        rows = rows[-1:] if self.rows is GatedRows.LAST else rows
        findings = [gate.decide(row) for row in rows]
        best_or_worst = max if self.rows is GatedRows.ANY else min
        finding = best_or_worst(findings, key=lambda f: f.status)
        detail = finding.detail
        for text in dict.fromkeys(text for row in rows for text in row.get("warnings") or ()):
            if re.match(rf"(\w+(, | and ))*{gate.key}\b", text):
                detail += f"; {text.split(':')[0]}"
        if len(findings) > 1:
            number_passed = sum(f.status is Status.PASSED for f in findings)
            detail += f"; {number_passed} of {len(findings)} rows pass"
            others = [at for at, f in enumerate(findings) if f.status is not Status.PASSED]
            if number_passed and self.rows is GatedRows.ALL:
                detail += f", not {_named(rows, others, labels)}"
        return GateVerdict(gate.text, finding.status, detail)


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
    problem = f"the result has no key {key!r}"
    if near:
        return f"{problem}; did you mean {' or '.join(near[:3])}?"
    return f"{problem}; docs/reference/json.md lists all"


def exit_code(result: Result, verdicts: Sequence[GateVerdict]) -> ExitCode:
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


def _limit(option: str, text: str) -> Gate:
    key, limit = _key_and_number(option, text, "KEY=VALUE", "max_cosine=0.5")
    least, most = (limit, math.inf) if option == "--min" else (-math.inf, limit)
    return Gate(f"{option} {text}", key, lambda row: _decide(row, key, least, most))


def _decide(row: dict[str, Any], key: str, least: float, most: float) -> Judgement:
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
        return Judgement(Status.FAILED, f"{key} = {value}, which is no number")
    else:
        parent, _, last = key.rpartition(".")
        whole = look_up(row, parent) if parent else row
        null = isinstance(value, dict) or (isinstance(whole, dict) and last in whole)
        return Judgement(Status.FAILED, f"{key} is {'null' if null else 'missing'}")
    passed, failed = least <= lower and upper <= most, upper < least or most < lower
    status = Status.PASSED if passed else Status.FAILED if failed else Status.UNDECIDED
    return Judgement(status, detail)


def _is_undecided(row: dict[str, Any], key: str) -> bool:
    return any(f"{key}.".startswith(f"{name}.") for name in row.get("undecided") or ())


def _allowance(text: str, baseline: Baseline) -> Gate:
    """How much worse than the baseline one key may be.

    Of an earlier bracket the proved end is the claim to keep up with, so that a rerun with the
    same result passes with no allowance at all.
    """
    key, amount = _key_and_number("--allow", text, "KEY=CHANGE", "max_cosine=1%", least=0.0)

    def decide(row: dict[str, Any]) -> Judgement:
        from gnc_cli.keys import better, gate_keys

        before = baseline.earlier(row)
        way = better(gate_keys(results(row["command"])), key)
        if _is_undecided(before, key):
            return Judgement(Status.UNDECIDED, f"{key} was not decided in {baseline.name}")
        earlier = look_up(before, key)
        if isinstance(earlier, dict):
            earlier = earlier.get("upper" if way == "lower" else "lower")
        if not isinstance(earlier, (int, float)) or isinstance(earlier, bool):
            return Judgement(Status.FAILED, f"{key} is no number in {baseline.name}")
        slack = amount / 100 * abs(earlier) if text.rstrip().endswith("%") else amount
        least = -math.inf if way == "lower" else earlier - slack
        most = math.inf if way == "higher" else earlier + slack
        finding = _decide(row, key, least, most)
        return Judgement(finding.status, f"{finding.detail}, was {earlier:.10g}")

    return Gate(f"--allow {text}", key, decide)


def _key_and_number(
    option: str, text: str, form: str, example: str, least: float | None = None
) -> tuple[str, float]:
    """A key of the result and a number behind `=`; only a change may end in `%`."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", key, re.ASCII):
        raise UsageError(f"{option} {text!r} is not {form}; write {option} {example}")
    try:
        return key, number(value.removesuffix("%") if option == "--allow" else value, least=least)
    except UsageError as error:
        raise UsageError(f"{option} {text!r}: {error}") from None


def _shared(labels: dict[str, Any], row: dict[str, Any]) -> int:
    return sum(v is not None and _same(row.get(key), v) for key, v in labels.items())


def _same(a: Any, b: Any) -> bool:
    # A temperature printed with fewer digits is still the same temperature.
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    return bool(a == b) or (numbers and math.isclose(a, b, rel_tol=1e-12))


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
