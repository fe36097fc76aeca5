"""The data of the page `reference/table-of-codes`: every (d, K) with a code or a bound of its own.

`write(FOLDER)` puts there `codes.json` and `codes.csv` with one row per pair, as `gnc bounds` and
`gnc compare --list` have them, and the coordinates and certificates that rows link to. `conf.py`
calls it whenever the site is built; rows are kept in `build/` until a source of them changes.
"""

import csv
import json
import shutil
from fractions import Fraction
from functools import cache
from hashlib import sha256
from math import acos, degrees
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import gnc_cli
from gnc_cli.constructions import registry
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.stored import ATLAS
from gnc_cli.known_codes.table import data_folder, numerical_codes, our_copy

ROOT = Path(__file__).parent.parent
LARGEST_K = 10**15
"""Whole numbers up to here are exact in every reader of JSON."""
Row = dict[str, Any]


def write(folder: Path) -> None:
    """Write the data of the page into a folder, with all files that its rows link to."""
    table = rows()
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("coordinates", "certificates"):
        shutil.copytree(data_folder() / name, folder / name)
    with np.load(data_folder() / ATLAS) as atlas:
        for key in atlas.files:
            np.savetxt(folder / "coordinates" / f"{key}.txt", atlas[key], fmt="%d")
    (folder / "codes.json").write_text(json.dumps(table), encoding="utf-8")
    with (folder / "codes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def rows() -> list[Row]:
    """Return one row per pair, by d and K; from `build/` if nothing that they rest on changed."""
    package = Path(gnc_cli.__file__).parent
    sources = [Path(__file__), *package.rglob("*.py"), *data_folder().rglob("*.csv")]
    state = sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()
    kept = ROOT / "build" / f"table-of-codes-{state[:16]}.json"
    if not kept.exists():
        made = joblib.Parallel(n_jobs=-1)(joblib.delayed(row)(d, K) for d, K in pairs())
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(made), encoding="utf-8")
    table: list[Row] = json.loads(kept.read_text(encoding="utf-8"))
    return table


def pairs() -> list[tuple[int, int]]:
    """Return the (d, K) of all entries, claims, numerical codes, constructions and certificates.

    Those that theorem 3.3 answers, K <= 2 d, are left out unless an entry has them.
    """
    listed = [*our_copy().select(), *numerical_codes().select()]
    built = [
        code
        for d in range(2, registry.MAX_DIMENSION + 1)
        for code in (*registry.in_dimension(d), *registry.cross_sections(d))
        if 2 * d < code.K <= LARGEST_K
    ]
    return sorted({(code.d, code.K) for code in [*listed, *built]} | {*certificates()})


@cache
def certificates() -> dict[tuple[int, int], str]:
    """Return the files of the stored certificates of upper ends, by (d, K)."""
    text = (data_folder() / "certificates" / "three_point.csv").read_text(encoding="utf-8")
    return {(int(r["d"]), int(r["K"])): r["file"] for r in csv.DictReader(text.splitlines())}


def row(d: int, K: int) -> Row:
    """Return what is known of (d, K)."""
    result = gnc_cli.bounds(d=d, K=K)
    (best,) = result.best
    known = best.best_known
    assert known is not None
    (bound,) = [r for r in result.rows if (r.name, r.side) == (best.upper_name, "upper")]
    listed = known.kind in ("table", "theorem") and (known.d, known.K) == (d, K)
    entry = our_copy().find(d, K) if listed else None
    claims = [c for c in our_copy().claims if (c.d, c.K) == (d, K)]
    claim = min(claims, key=lambda c: c.exact, default=None)
    certificate = certificates().get((d, K))
    builders = (r.how for r in result.rows if r.how and r.value >= best.lower * (1 - 1e-12))
    return {
        "d": d,
        "K": K,
        "lower": best.lower,
        "upper": best.upper,
        "gap": 0.0 if best.exact else (best.upper - best.lower) / best.upper,
        "status": status(d, K, known, best.exact),
        "max_cosine": known.figure,
        "min_angle_deg": degrees(acos(Fraction(known.figure))),
        "code": known.source,
        "date": known.date,
        "optimality": known.optimality,
        "upper_by": best.upper_name,
        "upper_source": bound.source,
        "rattlers": entry and entry.rattlers,
        "contacts": entry and entry.contacts,
        "build": known.how or next(builders, None),
        "coordinates": None if known.kind == "construction" else coordinates(known.d, known.K),
        "certificate": certificate and f"certificates/{certificate}",
        "claimed_cosine": claim and claim.figure,
        "claimed_by": claim and claim.source,
    }


def status(d: int, K: int, known: BestKnown, exact: bool) -> str:
    """Return a word for what the best known code of (d, K) is."""
    if known.proven or exact:
        return "optimal"
    if (known.d, known.K) != (d, K):
        return "part of another"
    if known.kind == "construction":
        return "construction"
    listed = our_copy().find(d, K)
    if known.kind == "solved":
        return "found by gnc" if listed is None else "improved by gnc"
    return "certified" if listed is not None and listed.status == "certified" else "published"


@cache
def atlas_keys() -> frozenset[str]:
    """Return the codes in the atlas, as `d.K`."""
    with np.load(data_folder() / ATLAS) as atlas:
        return frozenset(atlas.files)


def coordinates(d: int, K: int) -> str | None:
    """Return the file with our coordinates of the code of exactly (d, K); None without."""
    name = f"{d}.{K}"
    stored = (data_folder() / "coordinates" / f"{name}.txt").exists() or name in atlas_keys()
    return f"coordinates/{name}.txt" if stored else None
