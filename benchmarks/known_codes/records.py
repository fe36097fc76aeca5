"""Audit every claim that is made of codes found by gnc, and write the pages that state them.

    python -m benchmarks.known_codes.records           # the table and the findings; 1 where any
    python -m benchmarks.known_codes.records --quick   # without the contacts
    python -m benchmarks.known_codes.records --write   # RECORDS.md, and the counts on other pages

A claim is a row of margins.csv or a file of coordinates. It is

- `improved`: table.csv has the pair with a larger cosine;
- `ties`: it has it with the same;
- `superseded`: it has it with a smaller one;
- `rediscovered`: public tables of small codes, which we could not read, cover the size;
- `uncompared`: nothing published is known to us.

What is audited: the cosine of the coordinates is that of the row; an improvement has one source
with date and commit in comparators.json; no code of ours of more points or in fewer dimensions is
better; no proved bound is broken; the contacts hold the code (`benchmarks.known_codes.polish`).
Codes of the atlas are rounded, and their contacts are not looked at.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.known_codes import polish
from benchmarks.paths import RECORDS, ROOT
from benchmarks.runs import rows
from gnc_cli.codes.certify import contact_pairs, one_vs_one_rattlers
from gnc_cli.geometry.gram import max_cosine, row_maxima
from gnc_cli.known_codes.stored import ATLAS, stored_codes
from gnc_cli.known_codes.table import KnownCode, data_folder, numerical_codes, our_copy
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.verdict import proved_upper_end

PAGE = ROOT / "benchmarks" / "RECORDS.md"
KINDS = ("improved", "ties", "rediscovered", "superseded", "uncompared")
UNFINISHED = {(6, 200), (9, 750), (13, 162), (13, 231), (13, 351)}
"""Codes whose polish has not come to its end: their contacts are no finding yet."""
_ROUNDING = 2e-12
"""Largest difference of a value of twelve decimals from its code."""
_ROUGH = 1e-4
"""Largest cosines of codes that were not polished exceed 1 - rho by less."""
_GRAM = 1e-7
"""Gram values this near are one."""
_COUNTED = (
    ("docs/theory/theorem.md", "codes", r"Of the (\d+) codes whose coordinates it stores"),
    ("docs/theory/theorem.md", "rattler", r"coordinates it stores, (\d+) have a rattler"),
    ("docs/theory/theorem.md", "two", r"and (\d+) two or more\. In"),
    ("paper/theorem.md", "codes", r"Of (\d+) stored codes of the program"),
    ("paper/paper.md", "improved", r"\n\n(Fifty|\d+) codes found here, in 3,"),
    ("benchmarks/RESULTS.md", "codes", r"Of (\d+) stored codes \d+ have"),
    ("benchmarks/RESULTS.md", "rattler", r"stored codes (\d+) have a one-vs-one rattler"),
    ("benchmarks/RESULTS.md", "two", r"distance\), (\d+) two or more"),
    ("benchmarks/RESULTS.md", "improved", r"improved records \| \d+ of (\d+) \|"),
    ("data/known_codes/SOURCES.md", "improved", r"(Fifty|\d+) more rows are of pairs"),
    ("data/known_codes/SOURCES.md", "atlas", r"arrays of (\d+) codes"),
)
"""Counts on other pages: file, what is counted, and where the number stands."""


def kind(entry: KnownCode) -> str:
    """What is claimed of a numerical code beside published ones."""
    listed = our_copy().find(entry.d, entry.K)
    if listed is None:
        return "rediscovered" if entry.source.startswith("rediscovered") else "uncompared"
    if entry.interval[1] < listed.interval[0]:
        return "improved"
    return "superseded" if listed.interval[1] < entry.interval[0] else "ties"


def improved() -> list[KnownCode]:
    """Our numerical codes that are better than our copy of the table."""
    return [entry for entry in numerical_codes().select() if kind(entry) == "improved"]


@cache
def comparators() -> list[dict[str, Any]]:
    """Return the sources of the values that codes of ours improve on."""
    text = (data_folder() / "comparators.json").read_text(encoding="utf-8")
    return json.loads(text)["comparators"]


def sources(entry: KnownCode) -> list[dict[str, Any]]:
    """Return the sources of the table's value for a pair: one, if all is right."""
    listed = our_copy().entries[entry.d, entry.K]
    return [source for source in comparators() if source["cited"] in listed.source]


def findings(*, contacts: bool) -> Iterator[str]:
    """What is wrong with the claims.

    Args:
        contacts: whether the contacts of each file are looked at: minutes.
    """
    for entry in numerical_codes().select():
        d, K, name = entry.d, entry.K, f"({entry.d}, {entry.K}) {entry.figure}"
        code = next(stored_codes(d, K), None)
        if code is None:
            yield f"{name} has no coordinates"
            continue
        largest = max_cosine(code[1])
        rough = _ROUNDING if (data_folder() / "coordinates" / f"{d}.{K}.txt").exists() else _ROUGH
        if not -_ROUNDING <= largest - entry.max_cosine <= rough:
            yield f"{name} has coordinates with {largest:.15f}"
        if kind(entry) == "improved":
            found = sources(entry)
            if len(found) != 1 or len(found[0]["commit"]) != 40 or not found[0]["date"]:
                yield f"{name} has no single source with date and commit in comparators.json"
        if kind(entry) == "superseded":
            yield f"{name} is superseded by {our_copy().entries[d, K].figure}"
        for codes in (numerical_codes(), our_copy()):
            better = codes.covering(d, K)
            if better is not None and better.interval[1] < entry.interval[0]:
                yield f"{name} is worse than ({better.d}, {better.K}) {better.figure}"
        if 1.0 - entry.max_cosine > proved_upper_end(d, K) + _ROUNDING:
            yield f"{name} is impossible by a proved bound"
    for path, W in polish.files([]) if contacts else ():
        if W.shape[::-1] in UNFINISHED:
            continue
        residual = polish.stationarity(W)
        if residual > polish.STATIONARY:
            yield f"{path.name} is stationary to {residual:.1e} only"
        elif polish.opens(W, Deadline(60.0)):
            yield f"{path.name} opens"


def core(W: np.ndarray) -> tuple[int, int]:
    """Points that are left where those of fewer contacts than dimensions are removed, again and
    again, and the number of different products of two of them."""
    pairs = contact_pairs(W, polish.CONTACT)
    held = np.ones(len(W), dtype=bool)
    while True:
        inside = pairs[held[pairs].all(axis=1)]
        enough = held & (np.bincount(inside.ravel(), minlength=len(W)) >= W.shape[1])
        if (enough == held).all():
            break
        held = enough
    products = np.sort((W[held] @ W[held].T)[np.triu_indices(held.sum(), 1)])
    return int(held.sum()), int((np.diff(products) > _GRAM).sum()) + bool(len(products))


def line(entry: KnownCode) -> list[str]:
    """A row of the table of records."""
    d, K, listed = entry.d, entry.K, our_copy().entries[entry.d, entry.K]
    W = next(stored_codes(d, K))[1]
    visits = [v for v in rows(RECORDS / "visits.jsonl") if (v["d"], v["K"]) == (d, K)]
    points, products = core(W)
    return [
        f"{d}, {K}",
        f"{max_cosine(W):.15g}",
        f"{listed.max_cosine:.15g}",
        f"{listed.max_cosine - max_cosine(W):.1e}",
        f"{sources(entry)[0]['name']}, {listed.date}",
        f"{points}, {products}" if points else "-",
        f"{len(visits)}, {sum(v['budget'] for v in visits):g}" if visits else "-",
    ]


def counts() -> dict[str, int]:
    """The numbers of claims and files that pages state."""
    every = Counter(map(kind, numerical_codes().select()))
    loose = [one_vs_one_rattlers(row_maxima(W)[0], 1e-7).sum() for _, W in polish.files([])]
    with np.load(data_folder() / ATLAS) as atlas:
        number = len(atlas.files)
    few = {"codes": len(loose), "rattler": sum(map(bool, loose)), "atlas": number}
    return {**every, **few, "two": sum(n > 1 for n in loose)}


def summary() -> str:
    """How many claims there are of each kind, as a table."""
    number = counts()
    return report.table(list(KINDS), [[f"{number.get(name, 0)}" for name in KINDS]])


def write() -> None:
    """Write RECORDS.md, and the counts on other pages."""
    head = ["d, K", "max_cosine", "published", "below by", "by, on", "core", "visits, seconds"]
    origin = [
        f"| {c['name']} | {c['date']} | {c['publication']} | [{c['path']}]({c['repository']}) "
        f"| `{c['commit'][:12]}` |"
        for c in comparators()
    ]
    columns = "| comparator | date | publication | read in | commit |\n|---|---|---|---|---|\n"
    text = PAGE.read_text(encoding="utf-8")
    for name, body in (
        ("summary", summary()),
        ("records", report.table(head, [line(entry) for entry in improved()])),
        ("comparators", columns + "\n".join(origin)),
    ):
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{body}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text, encoding="utf-8")
    for path, new in restated().items():
        path.write_text(new, encoding="utf-8")


def restated() -> dict[Path, str]:
    """Pages with the counts of today."""
    number = counts()
    texts = {ROOT / file: (ROOT / file).read_text(encoding="utf-8") for file, *_ in _COUNTED}
    for file, name, place in _COUNTED:
        text = texts[ROOT / file]
        for found in re.finditer(place, text):
            texts[ROOT / file] = f"{text[: found.start(1)]}{number[name]}{text[found.end(1) :]}"
    return texts


def main() -> int:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the contacts")
    parser.add_argument("--write", action="store_true", help="write the pages")
    asked = parser.parse_args()
    if asked.write:
        write()
    print(summary())
    wrong = list(findings(contacts=not asked.quick))
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
