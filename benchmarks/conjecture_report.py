"""Turns the rows of `benchmarks.conjecture` into the tables of RESULTS.md."""

from collections import Counter
from typing import Any

__all__ = ["section"]

Row = dict[str, Any]

_PREFACE = """\
Softmax Codes found from random starts, weights and features apart, with no Tammes code anywhere in
the search, beside 1 - t. `excess` is the certified lower end of rho less 1 - t. `t from` says whose
t it is: `table` and `theorem` are other people's, `own` is a Tammes descent of ours with another
seed, `construction` a code from algebra that is not known to be optimal. Verdicts: `agrees` within
1e-9; `below`: the search did not reach 1 - t, which says nothing; `loose`: the code beats a t that
was only ours; `contradiction`: it beats a t that is marked as proved optimal, so that one of the
two is wrong. `same code` is the second claim: whether the code found is a Tammes code as well.
`rattlers` are one-vs-one and one-vs-rest."""


def section(pairs: list[Row], named: list[Row], again: int, machine: str) -> str:
    """Markdown: counts, a table of pairs, a table of named codes."""
    parts = ["## The conjecture rho* = 1 - t*", f"Machine: {machine}."]
    if pairs:
        parts += [_PREFACE, _counts(pairs, again), _pairs(pairs)]
    if named:
        parts += ["### Named codes", _named_counts(named), _named(named)]
    return "\n\n".join(parts)


def _counts(pairs: list[Row], again: int) -> str:
    seconds = sum(row["seconds"] for row in pairs)
    lines = [f"{len(pairs)} pairs, {again} of them twice; {seconds / 60:.0f} minutes of search."]
    for kind in ("theorem", "table", "own", "construction"):
        some = [row for row in pairs if row["reference"] == kind]
        if some:
            verdicts = Counter(row["verdict"] for row in some)
            said = ", ".join(f"{n} {v or 'undecided'}" for v, n in verdicts.most_common())
            proved = sum(bool(row["proven"]) for row in some)
            proof = f" ({proved} of these t are proved optimal)" if proved else ""
            lines.append(f"- t from {kind}: {len(some)} pairs{proof}: {said}")
    agree = [row for row in pairs if row["verdict"] == "agrees"]
    if agree:
        other = [f"({r['d']}, {r['K']})" for r in agree if r["same_maximiser"] is not True]
        largest = max(row["excess"] for row in pairs if row["verdict"] != "loose")
        lines.append(
            f"- largest excess {largest:+.1e}"
            f"; of {len(agree)} codes that reach 1 - t, {len(agree) - len(other)} are Tammes codes"
            + (f" and {', '.join(other)} not within 1e-9" if other else "")
        )
    return "\n".join(lines)


def _pairs(pairs: list[Row]) -> str:
    head = ["(d, K)", "rho lower", "bracket", "1 - t", "excess", "t from", "verdict", "same code",
            "rattlers", "h - w", "s"]  # fmt: skip
    lines = [
        [f"({row['d']}, {row['K']})", *_figures(row), row["reference"], row["verdict"] or "-",
         _yes(row["same_maximiser"]), _rattlers(row), _small(row["h_minus_w"]),
         f"{row['seconds']:.0f}"]
        for row in pairs
    ]  # fmt: skip
    return _table(head, lines)


def _named_counts(named: list[Row]) -> str:
    searched = [row for row in named if row["how"] == "independent"]
    found = [row for row in searched if row["verdict"] == "agrees"]
    climbed = [climb for row in named for climb in row.get("climbs") or ()]
    back = [c for c in climbed if c["excess"] > -1e-6 and not c.get("unproved")]
    above = [c for c in climbed if c["excess"] > 1e-12 and not c.get("unproved")]
    given = [row for row in named if row["how"] != "independent"]
    agree = sum(row["verdict"] == "agrees" for row in given)
    return (
        f"{len(searched)} codes were searched for independently and {len(found)} of them found. "
        "The others, and codes beyond 300 points (`local`, `certified`), were certified, disturbed "
        "by 0.01, 0.1 and 0.5 of their smallest chord, weights and features apart, and climbed "
        f"from: {len(climbed)} climbs, {len(back)} of them back to within 1e-6 of 1 - t, "
        f"{len(above)} above it. Of {len(given)} codes that were not searched for, {agree} have "
        "rows certified at 1 - t, within 1e-9 on both sides. A row that is not `independent` says "
        "nothing about codes far away."
    )


def _named(named: list[Row]) -> str:
    head = ["code", "(d, K)", "how", "rho lower", "bracket", "1 - t", "excess", "verdict",
            "found by", "best climbs", "s"]  # fmt: skip
    lines = [
        [row["name"], f"({row['d']}, {row['K']})", row["how"], *_figures(row),
         row["verdict"] or "-", row.get("origin") or "-",
         ", ".join(f"{c['excess']:+.0e}" for c in row.get("climbs") or ()) or "-",
         f"{row['seconds']:.0f}"]
        for row in named
    ]  # fmt: skip
    return _table(head, lines)


def _figures(row: Row) -> list[str]:
    rho, at = row["rho_one_vs_rest"], row["one_minus_t"]
    width = f"{rho['upper'] - rho['lower']:.0e}"
    if at is None:
        return [f"{rho['lower']:.12f}", width, "-", "-"]
    return [f"{rho['lower']:.12f}", width, f"{at:.12f}", f"{row['excess']:+.1e}"]


def _rattlers(row: Row) -> str:
    free = row["rattlers"]
    return f"{free['one_vs_one']}, {free['one_vs_rest']}"


def _yes(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "no"


def _small(value: float | None) -> str:
    return "-" if value is None else f"{value:.0e}"


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])
