"""Quality and time of `gnc solve` at default effort: sampled, resumable, reported with the machine.

    python -m benchmarks.search.solve run softmax tammes3 tammes large
    python -m benchmarks.search.solve report

Each case runs the command as a user would (a process of its own), so start-up counts. Rows are kept
in work/VERSION/solve.jsonl; a case that is there already is not run again. `report` writes the
section between the markers of benchmarks/RESULTS.md.
"""

import argparse
from typing import Any

from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from benchmarks.runs import best_known, keep, measure, rows

Row = dict[str, Any]
ROWS = MEASURED / "solve.jsonl"
_HIT = 1e-9
NAMED = [(4, 24), (4, 120), (5, 16), (5, 43), (6, 27), (7, 56), (8, 240), (5, 41), (6, 86)]


def cases(group: str) -> list[tuple[str, list[str]]]:
    """Name and options of each run of a group."""
    known = best_known()

    def solve(d: int, K: int, *more: str) -> list[str]:
        return ["--d", str(d), "--K", str(K), "--method", "descent", *more]

    if group == "softmax":
        return [(f"softmax (10, 100) seed {s}", solve(10, 100, "--seed", str(s))) for s in range(3)]
    if group == "tammes3":
        return [
            (f"tammes (3, {K})", solve(3, K, "--problem", "tammes"))
            for d, K in sorted(known)
            if d == 3 and 7 <= K <= 130
        ]
    if group == "tammes":
        return [(f"tammes ({d}, {K})", solve(d, K, "--problem", "tammes")) for d, K in NAMED]
    if group == "large":
        return [
            ("large (512, 10000)", solve(512, 10000, "--time-limit", "120")),
            ("large (64, 100000)", solve(64, 100000, "--time-limit", "180")),
        ]
    raise SystemExit(f"no group {group!r}")


def run(groups: list[str], only: str | None, every: int) -> None:
    """Run what is not there yet."""
    done = {row["case"] for row in rows(ROWS)}
    for group in groups:
        for name, options in cases(group)[::every]:
            if name not in done and (only is None or only in name):
                keep({"case": name, "group": group, **measure(options)}, ROWS)


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
    out = ["### Tammes, d = 3, compared with the best known values"]
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


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("groups", nargs="+")
    running.add_argument("--only", help="cases whose name contains this")
    running.add_argument("--every", type=int, default=1, help="each n-th case of a group")
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.groups, asked.only, asked.every)
    else:
        write_section("solve", section(rows(ROWS), best_known(), machine()))


if __name__ == "__main__":
    main()
