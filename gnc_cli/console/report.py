"""Last steps of every command: show the result, judge it, write the report.

A report presents a result and its verdicts to a pull request, a test page or a dashboard.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import typer

from gnc_cli.console.gates import Gates, GateVerdict, Status, exit_code
from gnc_cli.console.options import OutputOptions, Shape
from gnc_cli.console.process import emit, note
from gnc_cli.console.table import Table, markdown, printed
from gnc_cli.errors import ExitCode
from gnc_cli.escaping import in_markdown, in_prometheus, visible
from gnc_cli.records import Result, flatten

_MARKS = {Status.PASSED: "✅", Status.UNDECIDED: "❔", Status.FAILED: "❌"}
_UNFINISHED = ("interrupted", "nonfinite", "target_missed")
_HEAD = ("schema", "command", "version")
_MEANINGS = {
    "outcome": "How the run ended; 1 at the label of its outcome.",
    "status": "Where a code or a certificate stands, or whether a code exists; 1 at its label.",
    "gate_passed": "1 where the gate passed, 0 where it failed or was undecided.",
}
"""Explanations of the keys in a report for Prometheus that are not numbers in the JSON."""


def conclude(
    result: Result,
    tables: Callable[[bool], Sequence[Table]],
    output: OutputOptions,
    gates: Gates,
    *,
    verdicts: Sequence[GateVerdict],
    streamed: bool,
    on_stderr: bool,
    overwrite: bool,
) -> ExitCode:
    """Print `result`, its messages and verdicts, and write the report.

    Args:
        result: the command's record.
        tables: returns the tables of its view; the argument is true for all of them, as in a
            report.
        output: options of the output.
        gates: gates that judge the result.
        verdicts: the command's own verdicts.
        streamed: the rows were printed one by one.
        on_stderr: tables go to stderr, since stdout carries data.
        overwrite: the report may replace a file.

    Returns:
        The exit status.

    Raises:
        DataError: a row has no counterpart in the baseline.
        OutputError: stdout is closed, or the report cannot be written.
    """
    if result.interrupted and not result.lines():
        note("interrupted before the first row")
        return ExitCode.INTERRUPTED
    if output.shape is Shape.TABLE:
        views = tables(output.verbose)
        if output.quiet:
            views = [replace(table, notes=()) for table in views]
        if not on_stderr:
            emit(printed(views, sys.stdout))
        elif not output.quiet:
            typer.echo(printed(views, sys.stderr), nl=False, err=True, color=True)
    elif output.shape is Shape.JSON:
        emit(result.dumps() + "\n")
    elif output.shape is Shape.CSV:
        from gnc_cli.io.row_files import csv_text

        emit(csv_text(*result.csv_rows()), rows=True)
    elif not streamed:
        lines = [json.dumps(line, allow_nan=False) + "\n" for line in result.lines()]
        emit("".join(lines), rows=True)
    messages = [] if output.quiet else [*result.messages]
    if gates.gates:
        verdicts = [*verdicts, *gates.judge(result.judged_rows(), result.marked("label"))]
    messages += [v.line for v in verdicts if not (output.quiet and v.status is Status.PASSED)]
    if result.target_missed and output.shape is not Shape.TABLE and not output.quiet:
        messages.append("target missed: see max_cosine and rho_one_vs_rest")
    for line in messages:
        note(line)
    if output.report is not None:
        from gnc_cli.io.atomic import write_text

        text = report_text(output.report, result, lambda: tables(True), verdicts)
        write_text(output.report, text, force=overwrite)
    return exit_code(result, verdicts)


def report_text(
    path: str,
    result: Result,
    tables: Callable[[], Sequence[Table]],
    verdicts: Sequence[GateVerdict],
) -> str:
    """Return the report in the format of a suffix: .md, .xml (JUnit) or .prom (Prometheus).

    Args:
        path: path with the suffix.
        result: a command's record.
        tables: returns the tables of its view.
        verdicts: verdicts of its gates.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix == ".md":
        return _markdown(result, tables(), verdicts)
    return _junit(result, verdicts) if suffix == ".xml" else _prometheus(result, verdicts)


def _title(result: Result) -> str:
    return f"gnc {result.command}" + (f": {result.title}" if result.title else "")


def _markdown(result: Result, tables: Sequence[Table], verdicts: Sequence[GateVerdict]) -> str:
    lines = [f"## {in_markdown(_title(result))}"]
    if verdicts:
        rows = [(f"{_MARKS[v.status]} {v.status}", v.gate, v.detail) for v in verdicts]
        lines += markdown([Table(columns=(" ", "gate", "value"), rows=rows)])
    lines += markdown(tables)
    for message in result.messages:
        lines += ["", f"**{in_markdown(message)}**"]
    lines += ["", f"<sub>gnc {result.version}, {result.seconds:.3g} s</sub>", ""]
    return "\n".join(lines)


def _junit(result: Result, verdicts: Sequence[GateVerdict]) -> str:
    """Return a report of JUnit, with one test case for the run and one per gate."""
    from xml.etree import ElementTree

    unfinished = [line for line in result.lines() if line.get("outcome") in _UNFINISHED]
    failures = [("", line["outcome"], str(line.get("advice", ""))) for line in unfinished[:1]]
    failures += [(v.gate, str(v.status), v.detail) for v in verdicts if v.status < Status.PASSED]
    name, seconds = f"gnc {result.command}", f"{result.seconds:.3f}"
    counts = {
        "name": name,
        "tests": str(len(verdicts) + 1),
        "failures": str(len(failures)),
        "errors": "0",
        "time": seconds,
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", counts)
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _values(result).items():
        text = "" if value is None else visible(str(value))
        ElementTree.SubElement(properties, "property", {"name": visible(key), "value": text})
    for gate in ("", *(verdict.gate for verdict in verdicts)):
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": name,
                "name": visible(gate or _title(result)),
                "time": "0" if gate else seconds,
            },
        )
        for failed, kind, detail in failures:
            if failed == gate:
                ElementTree.SubElement(case, "failure", {"type": kind, "message": visible(detail)})
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _values(result: Result) -> dict[str, Any]:
    """Return all values on one level: those of the whole result, then those of each row."""
    body = result.to_json()
    whole = flatten({k: v for k, v in body.items() if k != "rows"}, lists=False)
    rows = result.judged_rows() if "rows" in body else []
    return whole | {
        f"rows.{index}.{key}": value
        for index, row in enumerate(rows)
        for key, value in flatten(row, lists=False).items()
        if key not in whole or whole[key] != value
    }


def _prometheus(result: Result, verdicts: Sequence[GateVerdict]) -> str:
    """Return one gauge per value of each row, labelled with the keys that distinguish the rows."""
    samples: dict[str, list[str]] = {}
    prefix = f"gnc_{result.command}"

    def sample(key: str, labels: dict[str, Any], value: float | bool) -> None:
        name = f"{prefix}_{re.sub(r'[^a-zA-Z0-9_]', '_', key)}"
        samples.setdefault(name, []).append(f"{name}{_labels(labels)} {_value(value)}")

    body = result.to_json()
    counts = {key: body[key] for key in ("counts", "table") if key in body}
    for key, value in flatten(counts).items():
        if isinstance(value, (bool, int, float)):
            sample(key, {}, value)
    names, words = result.marked("label"), result.marked("word")
    silent = {*_HEAD, *names, *counts, *result.marked("aside")}
    shared = {key: body[key] for key in names if body.get(key) is not None}
    for row in result.judged_rows():
        keys = shared | row
        labels = {key: keys[key] for key in names if keys.get(key) is not None}
        for key, value in flatten(row, lists=False).items():
            if key.split(".")[0] not in silent and isinstance(value, (bool, int, float)):
                sample(key, labels, value)
        for key in words:
            if row.get(key) is not None:
                sample(key, labels | {key: row[key]}, 1)
    for verdict in verdicts:
        gate = {"gate": verdict.gate, "status": verdict.status.value}
        sample("gate_passed", shared | gate, verdict.status is Status.PASSED)
    lines: list[str] = []
    for name, values in samples.items():
        key = name.removeprefix(f"{prefix}_")
        meaning = _MEANINGS.get(key, f"{key} of gnc {result.command} --json.")
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", *values]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, Any]) -> str:
    parts = []
    for key, value in labels.items():
        whole = key in ("epoch", "step") and float(value).is_integer()
        text = str(int(value)) if whole else repr(value) if isinstance(value, float) else str(value)
        parts.append(f'{key}="{in_prometheus(text)}"')
    return "{" + ",".join(parts) + "}" if parts else ""


def _value(value: float | bool) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN"
    return repr(float(value)) if isinstance(value, float) else str(int(value))
