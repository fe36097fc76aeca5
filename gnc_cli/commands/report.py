"""Reports: a result and its verdicts for a pull request, a test page or a dashboard."""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from gnc_cli.commands.baseline import rows_of
from gnc_cli.commands.expressions import Status
from gnc_cli.commands.gates import Verdict
from gnc_cli.commands.show import flatten
from gnc_cli.results.lines import flat_row

__all__ = ["report_text"]

_MARKS = {Status.PASSED: "✅", Status.UNDECIDED: "❔", Status.FAILED: "❌"}
_UNFINISHED = ("interrupted", "nonfinite", "target_missed")
_LABELS = (
    "d", "K", "problem", "tau", "file", "name", "side", "snapshot", "epoch", "step", "layer",
    "split", "run",
)  # fmt: skip
_HEAD = ("schema", "command", "version")
_WHOLE = ("counts", "table")
"""Keys of a whole result that its rows repeat."""
_ASIDE = ("attrs", "group", "groups", "policy", "skipped")
"""Keys that are no figures of a row."""
_ENDINGS = ("outcome", "status")
_TABLED = ("measure", "train")
"""Commands whose rows hold tables of their own."""


def report_text(path: str, result: dict[str, Any], verdicts: Sequence[Verdict]) -> str:
    """The report that the suffix of `path` names: .md, .xml (JUnit) or .prom (Prometheus).

    Args:
        path: only its suffix is looked at.
        result: a command's JSON.
        verdicts: what its gates said.
    """
    write = {".md": _markdown, ".xml": _junit, ".prom": _prometheus}[PurePath(path).suffix.lower()]
    return write(result, verdicts)


def _title(result: dict[str, Any]) -> str:
    if result["command"] == "bounds":
        from gnc_cli.commands.bounds_report import bounds_title

        return f"gnc bounds: {bounds_title(result)}"
    named = [f"{k} = {result[k]}" for k in ("problem", "d", "K") if result.get(k) is not None]
    return f"gnc {result['command']}" + (f": {', '.join(named)}" if named else "")


def _markdown(result: dict[str, Any], verdicts: Sequence[Verdict]) -> str:
    lines = [f"## {_title(result)}", ""]
    if verdicts:
        lines += ["| | gate | value |", "|---|---|---|"]
        lines += [
            f"| {_MARKS[v.status]} {v.status.value} | `{_cell(v.gate)}` | {_cell(v.detail)} |"
            for v in verdicts
        ]
        lines.append("")
    if result["command"] == "measure":
        from gnc_cli.commands.measure_report import measure_markdown

        lines += measure_markdown(result, _cell)
    elif result["command"] == "bounds":
        from gnc_cli.commands.bounds_report import bounds_markdown

        lines += bounds_markdown(result, _cell)
    elif result["command"] == "train":
        from gnc_cli.commands.train_report import train_markdown

        lines += train_markdown(result, _cell)
    else:
        lines += _markdown_rows(result)
    lines += ["", f"<sub>gnc {result['version']}, {result['seconds']:.3g} s</sub>", ""]
    return "\n".join(lines)


def _markdown_rows(result: dict[str, Any]) -> list[str]:
    lines = []
    rows = rows_of(result)
    flat = [
        {k: v for k, v in flatten(row).items() if k not in (*_HEAD, "advice")} for row in rows
    ]
    if len(rows) > 1:
        shared = [k for k in ("problem", "d", "K", *_WHOLE) if k in result]
        flat = [{k: v for k, v in row.items() if k.split(".")[0] not in shared} for row in flat]
        names = list(dict.fromkeys(n for row in flat for n in row))
        lines += ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += ["| " + " | ".join(_cell(row.get(n)) for n in names) + " |" for row in flat]
    else:
        lines += ["| key | value |", "|---|---|"]
        lines += [f"| `{k}` | {_cell(v)} |" for row in flat for k, v in row.items()]
    for row in rows[-1:]:
        if row.get("advice") and (len(rows) == 1 or "outcome" in row):
            ended = row.get("outcome") or row.get("status")
            lines += ["", f"**{ended}**: {_cell(row['advice'])}"]
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def _junit(result: dict[str, Any], verdicts: Sequence[Verdict]) -> str:
    rows = rows_of(result)
    unfinished = [r for r in rows if r.get("outcome") in _UNFINISHED]
    failures = len([v for v in verdicts if v.status is not Status.PASSED]) + bool(unfinished)
    counts = {"tests": str(len(verdicts) + 1), "failures": str(failures), "errors": "0"}
    seconds = f"{result['seconds'] or 0.0:.3f}"
    name = f"gnc {result['command']}"
    root = ElementTree.Element("testsuites", {"name": name, **counts, "time": seconds})
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts, "time": seconds})
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _figures(result).items():
        said = "" if value is None else str(value)
        ElementTree.SubElement(properties, "property", {"name": key, "value": _xml(said)})
    run = ElementTree.SubElement(
        suite, "testcase", {"classname": name, "name": _title(result), "time": seconds}
    )
    for row in unfinished[:1]:
        ElementTree.SubElement(
            run, "failure", {"type": row["outcome"], "message": str(row.get("advice", ""))}
        )
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": name, "name": _xml(verdict.gate), "time": "0"}
        )
        if verdict.status is not Status.PASSED:
            ElementTree.SubElement(
                case, "failure", {"type": verdict.status.value, "message": _xml(verdict.detail)}
            )
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """One level; without the tables inside a row: classes, epochs."""
    return flat_row(row) if row["command"] in _TABLED else flatten(row)


def _figures(result: dict[str, Any]) -> dict[str, Any]:
    """All of a result at one level; of bounds what was asked and what was found."""
    if result["command"] == "bounds":
        return _asked(result) | flatten(_sampled(result))
    if result["command"] not in _TABLED:
        return flatten(result)
    rows = enumerate(result.get("rows", ()))
    whole = flat_row({k: v for k, v in result.items() if k not in ("rows", "groups")})
    return whole | {f"rows.{i}.{k}": v for i, row in rows for k, v in flat_row(row).items()}


def _xml(text: str) -> str:
    """Without the control characters that XML cannot carry."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def _prometheus(result: dict[str, Any], verdicts: Sequence[Verdict]) -> str:
    samples: dict[str, list[str]] = {}
    prefix = f"gnc_{result['command']}"

    def sample(key: str, labels: dict[str, Any], value: float | int | bool) -> None:
        name = f"{prefix}_{re.sub(r'[^a-zA-Z0-9_]', '_', key)}"
        samples.setdefault(name, []).append(f"{name}{_labels(labels)} {_value(value)}")

    for key, value in flatten({k: result[k] for k in _WHOLE if k in result}).items():
        if isinstance(value, (bool, int, float)):
            sample(key, {}, value)
    for row in _sampled(result):
        labels = {k: row[k] for k in _LABELS if row.get(k) is not None} | _asked(result)
        for key, value in _flat(row).items():
            silent = key in (*_HEAD, *labels, *_LABELS) or key.split(".")[0] in (*_WHOLE, *_ASIDE)
            if not silent and isinstance(value, (bool, int, float)):
                sample(key, labels, value)
        for key in _ENDINGS:
            if row.get(key) is not None:
                sample(key, labels | {key: row[key]}, 1)
    for verdict in verdicts:
        shared = {k: result[k] for k in _LABELS if result.get(k) is not None} | _asked(result)
        full = shared | {"gate": verdict.gate, "status": verdict.status.value}
        sample("gate_passed", full, int(verdict.status is Status.PASSED))
    lines: list[str] = []
    for name, values in samples.items():
        lines += [f"# HELP {name} {_help(name, prefix)}", f"# TYPE {name} gauge", *values]
    return "\n".join(lines) + "\n"


def _sampled(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that make samples."""
    if result["command"] != "bounds":
        return rows_of(result)
    from gnc_cli.commands.bounds_lines import bounds_lines

    return bounds_lines(result)


def _asked(result: dict[str, Any]) -> dict[str, Any]:
    """What bounds were asked for."""
    if result["command"] != "bounds":
        return {}
    from gnc_cli.commands.bounds_lines import asked_keys

    return asked_keys(result)


def _help(name: str, prefix: str) -> str:
    key = name.removeprefix(f"{prefix}_")
    return {
        "outcome": "How the run ended; 1 at the label of its outcome.",
        "status": "Where a code stands, or whether one exists; 1 at the label of its status.",
        "gate_passed": "1 where the gate passed, 0 where it failed or was undecided.",
    }.get(key, f"{key} of {prefix.replace('_', ' ')} --json.")


def _labels(labels: dict[str, Any]) -> str:
    parts = []
    for key, value in labels.items():
        whole = key in ("epoch", "step") and float(value).is_integer()
        text = str(int(value)) if whole else repr(value) if isinstance(value, float) else str(value)
        text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        parts.append(f'{key}="{text}"')
    return "{" + ",".join(parts) + "}" if parts else ""


def _value(value: float | int | bool) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN"
    return repr(float(value)) if isinstance(value, float) else str(int(value))
