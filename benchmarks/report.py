"""Turns the rows of `benchmarks.solve` into the tables of RESULTS.md."""

from typing import Any

__all__ = ["section", "table"]

Row = dict[str, Any]
_HIT = 1e-9


def section(rows: list[Row], known: dict[tuple[int, int], float], machine: str) -> str:
    """Markdown of all groups that have rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if "result" in row:
            groups.setdefault(row["group"], []).append(row)
    parts = ["## gnc solve", f"Machine: {machine}. One run a case, default effort, whole process."]
    if "softmax" in groups:
        parts.append(_softmax(groups["softmax"]))
    if "tammes3" in groups:
        parts.append(_sphere(groups["tammes3"], known))
    if "tammes" in groups:
        parts.append(_tammes(groups["tammes"], known))
    if "large" in groups:
        parts.append(_large(groups["large"]))
    failed = [f"- {row['case']}: exit {row['failed']}" for row in rows if "failed" in row]
    return "\n\n".join([*parts, *failed])


def table(head: list[str], lines: list[list[str]]) -> str:
    """Markdown."""
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def _softmax(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        r = row["result"]
        rho = r["rho_one_vs_rest"]
        lines.append(
            [
                row["case"],
                f"{rho['lower']:.12f}",
                f"{rho['upper'] - rho['lower']:.1e}",
                f"{r['stationarity']:.1e}" if r["stationarity"] is not None else "-",
                f"{r['first_order_gain']:.1e}" if r["first_order_gain"] is not None else "-",
                f"{row['wall']:.0f}",
                f"{row['cpu']:.0f}",
            ]
        )
    head = ["case", "rho lower", "bracket", "stationarity", "first-order gain", "s", "CPU s"]
    return "### Softmax Codes\n\n" + table(head, lines)


def _gap(row: Row, known: dict[tuple[int, int], float]) -> float:
    r = row["result"]
    return float(r["max_cosine"] - known[r["d"], r["K"]])


def _sphere(rows: list[Row], known: dict[tuple[int, int], float]) -> str:
    out = ["### Tammes, d = 3, against the best known figures"]
    for low, high in ((7, 60), (61, 130)):
        part = [r for r in rows if low <= r["result"]["K"] <= high]
        if not part:
            continue
        hits = [r for r in part if _gap(r, known) <= _HIT]
        walls = sorted(r["wall"] for r in part)
        missed = ", ".join(
            f"{r['result']['K']} ({_gap(r, known):.1e})" for r in part if r not in hits
        )
        out.append(
            f"K in {low}..{high}: {len(hits)} of {len(part)} within 1e-9 "
            f"({100 * len(hits) / len(part):.0f}%); seconds: median {walls[len(walls) // 2]:.0f}, "
            f"largest {walls[-1]:.0f}. Missed (gap): {missed or 'none'}."
        )
    return "\n\n".join(out)


def _tammes(rows: list[Row], known: dict[tuple[int, int], float]) -> str:
    lines = [
        [
            row["case"],
            repr(row["result"]["max_cosine"]),
            f"{_gap(row, known):.1e}",
            f"{row['wall']:.0f}",
            f"{row['cpu']:.0f}",
        ]
        for row in rows
    ]
    return "### Tammes, named cases\n\n" + table(
        ["case", "max_cosine", "gap to best known", "s", "CPU s"], lines
    )


def _large(rows: list[Row]) -> str:
    lines = [
        [
            row["case"],
            f"{row['result']['max_cosine']:.6f}",
            f"{row['result']['rho_one_vs_rest']['lower']:.6f}",
            row["result"]["outcome"],
            f"{row['wall']:.0f}",
            f"{row['peak_mb'] / 1024:.2f}",
        ]
        for row in rows
    ]
    head = ["case", "max_cosine", "rho lower", "outcome", "s", "peak GB"]
    return "### Large K\n\n" + table(head, lines)
