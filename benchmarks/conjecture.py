"""The paper's conjecture over many pairs and the named codes: searched, certified, reported.

    python -m benchmarks.conjecture pairs       # d = 3..8, 2 d < K <= 40: 174 pairs
    python -m benchmarks.conjecture named       # Cohn and Kumar's table and our other exact codes
    python -m benchmarks.conjecture report

Every step can be stopped and goes on where it was: rows are kept in benchmarks/work/. Pairs where
the search did not reach 1 - t, or beat a t that was only our own, have a second turn with another
seed and more time. `report` writes the section between the markers of benchmarks/RESULTS.md.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.solve import machine, write_section

WORK = Path(__file__).parent / "work"
FIRST, AGAIN, NAMED = (
    WORK / f"conjecture-{name}.jsonl" for name in ("pairs", "again", "named")
)
DIMENSIONS = range(3, 9)
MOST = 40
OPEN = ("below", "loose")
"""Verdicts that more time may change."""


def pairs(budget: float, again: float, workers: int, only: list[int] | None) -> None:
    """Every pair once; the open ones a second time, with another seed and more seconds."""
    from gnc_cli.workflows.compare_conjecture import compare_conjecture

    WORK.mkdir(exist_ok=True)
    for d in only or DIMENSIONS:
        compare_conjecture(
            [d], range(2 * d + 1, MOST + 1), budget=budget, workers=workers, out=FIRST,
            resume=True, evidence=WORK, on_row=say,
        )  # fmt: skip
    for row in rows(FIRST):
        if row["verdict"] in OPEN and (not only or row["d"] in only):
            compare_conjecture(
                [row["d"]], [row["K"]], budget=again, seed=1, out=AGAIN, resume=True,
                evidence=WORK, on_row=say,
            )  # fmt: skip


def named(budget: float, workers: int) -> None:
    """The named codes."""
    from gnc_cli.workflows.compare_conjecture import compare_conjecture

    WORK.mkdir(exist_ok=True)
    compare_conjecture(
        named=True, budget=budget, workers=workers, out=NAMED, resume=True, evidence=WORK,
        on_row=say,
    )  # fmt: skip


def say(row: Any) -> None:
    """A line a row."""
    excess = row.more["excess"]
    print(
        f"({row.d}, {row.K})", row.more.get("name", ""), row.more["how"], row.more["verdict"],
        "-" if excess is None else f"{excess:+.1e}", f"{row.seconds:.1f} s", flush=True,
    )  # fmt: skip


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a ledger, by d and K."""
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.open()]
    return sorted(found, key=lambda row: (row["d"], row["K"]))


def settled() -> list[dict[str, Any]]:
    """One row a pair: of two turns the better code, against the better t, judged anew."""
    turns: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows(FIRST) + rows(AGAIN):
        turns.setdefault((row["d"], row["K"]), []).append(row)
    return [_joined(turns[key]) for key in sorted(turns)]


def _joined(turns: list[dict[str, Any]]) -> dict[str, Any]:
    from gnc_cli.codes.conjecture import judge
    from gnc_cli.results import Bracket, plain

    code = max(turns, key=lambda row: row["rho_one_vs_rest"]["lower"])
    known = max(turns, key=lambda row: row["one_minus_t"])
    seconds = sum(row["seconds"] for row in turns)
    if code is known or code["one_minus_t"] == known["one_minus_t"]:
        return code | {"seconds": seconds}
    judged = judge(
        Bracket(**code["rho_one_vs_rest"]), code["max_cosine"], 1.0 - known["one_minus_t"],
        error=known["tolerance"], proven=bool(known["proven"]),
        listed=known["reference"] in ("theorem", "table"),
    )  # fmt: skip
    new = plain(judged)
    if new["verdict"] in ("counterexample", "candidate") and new["verdict"] != code["verdict"]:
        new["verdict"] = None  # a claim that was not settled is none
    return code | new | {"reference": known["reference"], "seconds": seconds}


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    of_pairs = commands.add_parser("pairs")
    of_pairs.add_argument("--budget", type=float, default=5.0, help="seconds a search")
    of_pairs.add_argument("--again", type=float, default=20.0, help="the same in the second turn")
    of_pairs.add_argument("--only", type=int, nargs="+", help="these dimensions")
    of_named = commands.add_parser("named")
    of_named.add_argument("--budget", type=float, default=40.0, help="seconds a code")
    for command in (of_pairs, of_named):
        command.add_argument("--workers", type=int, default=1)
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "pairs":
        pairs(asked.budget, asked.again, asked.workers, asked.only)
    elif asked.command == "named":
        named(asked.budget, asked.workers)
    else:
        from benchmarks.conjecture_report import section

        body = section(settled(), rows(NAMED), len(rows(AGAIN)), machine())
        write_section("conjecture", body)


if __name__ == "__main__":
    main()
