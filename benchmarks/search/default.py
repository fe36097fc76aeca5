"""The default of `gnc solve` beside `--method descent`, and beside the lower end of `gnc bounds`.

    python -m benchmarks.search.default run --seconds 5 20 60  # forty drawn pairs; can be resumed
    python -m benchmarks.search.default run --seconds 20 --pairs 10 --seeds 0 1 2
    python -m benchmarks.search.default run --seconds 20 --before ../before  # another checkout's
    python -m benchmarks.search.default report                 # into RESULTS.md; or show

Pairs are drawn with d = 4 to 24 and 2 d < K <= 600, each d and each K of a d as likely as the
others; those that theorem 3.3 or a proof settles are drawn again. Each run is `gnc solve
--problem tammes --workers 1 --time-limit T` in a process of its own. The loss of the default is the
share of the distance (1 - the largest cosine) by which it is below descent with the same seed.
"""

import argparse
import random
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from benchmarks.runs import keep, measure, rows
from gnc_cli import bounds
from gnc_cli.known_codes.best import best

ROWS = MEASURED / "default.jsonl"
_LARGEST = 600
_TIE = 1e-6
"""Shares of the distance that are no loss."""
_BEFORE = "auto, before"


def drawn(number: int, seed: int) -> list[tuple[int, int]]:
    """The first pairs of a draw; a larger number adds pairs and drops none."""
    rng, found = random.Random(seed), []
    while len(found) < number:
        d = rng.randint(4, 24)
        pair = d, rng.randint(2 * d + 1, _LARGEST)
        known = best(*pair)
        if pair not in found and not (known and known.proven):
            found.append(pair)
    return found


def run(
    pairs: list[tuple[int, int]], seconds: list[float], seeds: list[int], before: Path | None
) -> None:
    """Solve what is not there yet."""
    done = {row["case"] for row in rows(ROWS)}
    for limit in seconds:
        for d, K in pairs:
            for method in ("auto", "descent") if before is None else (_BEFORE,):
                for seed in seeds:
                    case = f"({d}, {K}) {method} {limit:g} s seed {seed}"
                    if case in done:
                        continue
                    asked = f"--d {d} --K {K} --problem tammes --workers 1 --seed {seed} "
                    asked += f"--time-limit {limit:g} --method {method.partition(',')[0]}"
                    row = {"case": case, "d": d, "K": K, "method": method, "limit": limit}
                    keep(row | {"seed": seed} | measure(asked.split(), before), ROWS)


def section(kept: list[dict[str, Any]], where: str) -> str:
    """Markdown: a line per time limit, then one per pair."""
    values: dict[tuple[int, int, float, int], dict[str, Any]] = {}
    for row in kept:
        if "result" in row:
            at = row["d"], row["K"], row["limit"], row["seed"]
            values.setdefault(at, {})[row["method"]] = row["result"]
    summary, lines = [], []
    for limit in sorted({at[2] for at in values}):
        both = {"auto", "descent"}
        pairs = [each for at, each in values.items() if at[2] == limit and both <= each.keys()]
        losses = [_loss(each) for each in pairs]
        summary.append(
            [
                f"{limit:g}",
                str(len(pairs)),
                str(sum(loss < -_TIE for loss in losses)),
                str(sum(abs(loss) <= _TIE for loss in losses)),
                str(sum(loss > _TIE for loss in losses)),
                f"{100 * max(losses, default=0.0):.2g} %",
                f"{100 * median(_short(at, each) for at, each in values.items()):.2g} %",
                f"{100 * max(_short(at, each) for at, each in values.items()):.2g} %",
            ]
        )
    for at, each in sorted(values.items()):
        d, K, limit, seed = at
        shown = [
            f"{_distance(each[name]):.6f}" if name in each else "-"
            for name in (_BEFORE, "auto", "descent")
        ]
        origin = each["auto"]["origin"] if "auto" in each else "-"
        lower = bounds(d, K).best[0].lower
        lines.append([f"({d}, {K})", f"{limit:g}", str(seed), f"{lower:.6f}", *shown, origin])
    return "\n\n".join(
        [
            "## The default compared with descent",
            f"Machine: {where}. Pairs drawn by `benchmarks.search.default`; one worker. Loss: "
            "share of the distance by which the default is below descent with the same seed. "
            "Behind: share by which the lower end of `gnc bounds` is below the better one.",
            table(
                [
                    "T s",
                    "runs",
                    "default better",
                    "equal to 1e-6",
                    "default worse",
                    "largest loss",
                    "bounds behind, median",
                    "at most",
                ],
                summary,
            ),
            table(
                ["(d, K)", "T s", "seed", "bounds", "before", "auto", "descent", "found by"], lines
            ),
        ]
    )


def _distance(result: dict[str, Any]) -> float:
    return 1.0 - float(result["max_cosine"])


def _loss(each: dict[str, Any]) -> float:
    return 1.0 - _distance(each["auto"]) / _distance(each["descent"])


def _short(at: tuple[int, int, float, int], each: dict[str, Any]) -> float:
    """The share by which the lower end of bounds is below the best of the runs."""
    return 1.0 - bounds(*at[:2]).best[0].lower / max(map(_distance, each.values()))


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--seconds", type=float, nargs="+", default=[20.0])
    running.add_argument("--pairs", type=int, default=40, help="how many are drawn")
    running.add_argument("--draw", type=int, default=1, help="seed of the draw")
    running.add_argument("--part", default="1/1", metavar="I/N", help="every N-th pair, from I on")
    running.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the searches")
    running.add_argument("--before", type=Path, help="a checkout whose default is run")
    commands.add_parser("report")
    commands.add_parser("show")
    asked = parser.parse_args()
    if asked.command == "run":
        first, _, step = asked.part.partition("/")
        pairs = drawn(asked.pairs, asked.draw)[int(first) - 1 :: int(step)]
        run(pairs, asked.seconds, asked.seeds, asked.before)
        return
    body = section(rows(ROWS), machine())
    write_section("default", body) if asked.command == "report" else print(body)


if __name__ == "__main__":
    main()
