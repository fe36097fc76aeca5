"""`gnc solve` at sizes of networks, 2 d < K <= 10 d: distances after a time, beside what is proved.

    python -m benchmarks.search.regime run --seconds 15 60 600 [--pairs 64,200 256,600]
    python -m benchmarks.search.regime report

One run per pair and time limit, with one worker and the default method, as a user would start it.
Rows are kept in work/VERSION/regime.jsonl; a case that is there already is not run again.
`report` writes the section between the markers of benchmarks/RESULTS.md.
"""

import argparse

from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from benchmarks.runs import keep, measure, rows

PAIRS = ["64,200", "100,300", "128,500", "256,600", "256,1000", "512,1500", "768,2000"]
ROWS = MEASURED / "regime.jsonl"


def run(pairs: list[str], times: list[int]) -> None:
    """Run what is not there yet."""
    done = {row["case"] for row in rows(ROWS)}
    for seconds in times:
        for pair in pairs:
            d, K = pair.split(",")
            case = f"({d}, {K}), {seconds} s"
            if case not in done:
                options = ["--d", d, "--K", K, "--time-limit", str(seconds), "--workers", "1"]
                keep({"case": case, "seconds": seconds, **measure(options)}, ROWS)


def section() -> str:
    """Return the Markdown of all rows: distances, their share of the proved upper end, origins."""
    lines = []
    for row in sorted(
        (row for row in rows(ROWS) if "result" in row),
        key=lambda row: (row["result"]["d"], row["result"]["K"], row["seconds"]),
    ):
        result, upper = row["result"], row["result"]["optimum"]["upper"]
        lower = result["rho_one_vs_rest"]["lower"]
        sizes = [f"({result['d']}, {result['K']})", f"{row['seconds']}", f"{row['wall']:.1f}"]
        shown = [f"{lower:.6f}", f"{upper:.6f}", f"{lower / upper:.2%}"]
        lines.append([*sizes, *shown, result["origin"]])
    head = ["(d, K)", "limit s", "s", "rho, lower end", "proved upper end", "share", "found by"]
    return "\n\n".join(
        [
            "## gnc solve at sizes of networks",
            f"Machine: {machine()}. `python -m benchmarks.search.regime`: one run each, one "
            "worker.",
            table(head, lines),
        ]
    )


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--seconds", type=int, nargs="+", default=[15, 60, 600])
    running.add_argument("--pairs", nargs="+", default=PAIRS, help="d,K")
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.pairs, asked.seconds)
    else:
        write_section("regime", section())


if __name__ == "__main__":
    main()
