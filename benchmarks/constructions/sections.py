"""A search for sections of lattices: what `lattice_sections` has as data is what this finds.

    python -m benchmarks.constructions.sections --time-limit 40m  # goes on where it ended
    python -m benchmarks.constructions.sections --second-shell --time-limit 5m  # of Leech's lattice
    python -m benchmarks.constructions.sections --table   # makes lattice_sections.csv
    python -m benchmarks.constructions.sections --report  # beside the table of known codes

A run goes down from a lattice's shortest vectors, or from the best sections of a dimension, one
dimension after the other. Each state is a base, and the vectors that are left. It gets further base
vectors at random, one by one: a vector of what is left, the sum or the difference of some. Each
time the vectors that are left are sorted by their inner products with the base, and the largest
unions of these levels are made at each of some cosines: by the products of a few vectors of each
level with all others, and greedy cliques. The largest unions of each range of cosines go on, some
of them with all vectors of their state. With them go the best sections of the next dimension, one
base vector left out. What has more rows than every construction of its cosine in as few dimensions
is kept. The file has, of those with six dimensions and 48 rows or more, the ones that no other
construction and no two codes in orthogonal spaces match; each is built and verified exactly. A run
depends on its seed and number and on what is there already; no value of a table enters.

The folder has `runs.json`, the runs done of each seed, and `found.jsonl`, a row per section; the
sections of the file are known from the beginning.
"""

import argparse
import csv
import json
import re
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paths import WORK
from benchmarks.report import table
from gnc_cli.constructions.families import lattice_sections
from gnc_cli.constructions.families.lattice_sections import (
    SECOND_SHELL,
    base_vector,
    second_shell,
    section_rows,
    shortest_vectors,
)
from gnc_cli.constructions.registry import best_construction, cross_sections, in_dimension
from gnc_cli.known_codes.table import STATUS_CLAIMED, our_copy
from gnc_cli.parsing import seconds

LATTICES = {"leech": 0.75, "barnes-wall": 0.23, "e8-roots": 0.02}
"""With the share of runs that each gets."""
FOLDER = WORK / "sections"
_RANGES = np.concatenate([np.arange(0.05, 0.2, 0.03), np.arange(0.2, 0.5, 0.015), [0.5, 0.6, 0.7]])
"""Ends of the ranges of cosines: in each the largest unions go on."""
_LARGEST = 0.5
"""Of 16 dimensions and more, the largest cosine: beyond, other codes are better."""
_WIDTHS, _TRIES = (2, 12), (10, 40)
"""Unions that go on in each range, and base vectors that each state gets: drawn for each run."""
_AGAIN = 24
"""Sections of the next dimension that get another base vector."""
_FROM_SECTIONS = 0.8
"""Share of the runs that begin with the best sections of a dimension."""
_MOST_PRODUCTS = 4e7
_MOST_LEVELS = 250
_THRESHOLDS = 24
_STARTS = 6
_MOST_ROWS = (60_000, 6000)
"""Rows of a section of one level, and of a union, that is looked at."""
_FEWEST_LEFT = 24
_CHECKED = 200
FAMILY = "section-"
SECTIONS = Path(lattice_sections.__file__).with_suffix(".csv")
_SHELL_ROWS = 50_000
_SHELL_GAIN = 1.05
_LEAST, _FEWEST = 6, 48
"""Dimensions and rows of the smallest section in the file: smaller codes are left to the search."""
_TABLE_FROM = 100
_TIE = 1e-11
NEW = (FAMILY, "signed-quadruples-", "odd-signs-")
"""Families of which `--report` says where they reach the table."""
_MOST_LEVELS_WRITTEN = 24
_EPS = 1e-8
"""Cosines that are nearer are one."""


shortest = cache(shortest_vectors)


@cache
def _single(lattice: str) -> np.ndarray:
    return shortest(lattice).astype(np.float32)


@cache
def known(d: int, new: tuple[str, ...] = (FAMILY,)) -> tuple[list[float], list[int]]:
    """Rising cosines, and the most rows in up to d dimensions at each, of other constructions."""
    codes = [
        code
        for e in range(2, d + 1)
        for code in (*in_dimension(e), *cross_sections(e))
        if not code.name.startswith(new)
    ]
    codes.sort(key=lambda code: code.cosine.value)
    cosines = [code.cosine.value for code in codes]
    return cosines, np.maximum.accumulate([2 * d, *(code.K for code in codes)]).tolist()


@dataclass
class Found:
    """What was found, in the file and in the folder, and the most rows by dimension."""

    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: dict[int, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        if SECTIONS.exists():
            for row in csv.DictReader(SECTIONS.read_text(encoding="utf-8").splitlines()):
                cosine = float(Fraction(row["square"])) ** 0.5
                sizes = {"d": int(row["d"]), "K": int(row["K"]), "cosine": cosine, "run": "file"}
                self._add(row | sizes)
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                self._add(json.loads(line))

    def most(self, d: int, cosine: float) -> int:
        """The most rows in d dimensions with at most this cosine, found or known before."""
        found = max((K for t, K in self.best[d] if t <= cosine + _EPS), default=0)
        cosines, rows = known(d)
        return max(found, rows[bisect_right(cosines, cosine + _EPS)])

    def add(self, row: dict[str, Any]) -> None:
        """Keep a section."""
        self._add(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def front(self, d: int) -> list[dict[str, Any]]:
        """Sections of d dimensions with no better one of at least as many rows."""
        best = {(round(t, 9), K) for t, K in self.best[d]}
        return [r for r in self.rows if r["d"] == d and (round(r["cosine"], 9), r["K"]) in best]

    def _add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        t, K = row["cosine"], row["K"]
        for d in range(row["d"], 25):
            if not any(s <= t + _EPS and n >= K for s, n in self.best[d]):
                held = [(s, n) for s, n in self.best[d] if s < t - _EPS or n > K]
                self.best[d] = [*held, (t, K)]


@dataclass
class State:
    """Vectors that are left, the base, and their inner products."""

    lattice: str
    left: np.ndarray
    """Their numbers among the lattice's shortest vectors."""
    texts: list[str]
    base: np.ndarray
    products: np.ndarray


def _added(rng: np.random.Generator, state: State) -> State | None:
    """The state with one more base vector, of which half are sums or differences of two vectors;
    None where it lies in the span of the others."""
    vectors = shortest(state.lattice)
    left = state.left
    way = int(rng.choice([0, 1, 2, 4, 5, 5, 5, 5, 6, 7]))
    first = int(rng.choice(left))
    if rng.random() < 0.5 and state.products.shape[1]:  # of any level, small or large
        _, level, _ = _levels(state)
        first = int(rng.choice(left[level == rng.integers(level.max() + 1)]))
    if way <= 3:
        numbers, signs = [first], [1]
    elif way == 4:
        numbers, signs = [int(rng.integers(len(vectors)))], [1]
    elif way == 5:
        numbers, signs = [first, int(rng.choice(left))], [1, int(rng.choice([1, -1]))]
    else:  # the sum of a vector and some of its nearest neighbours
        products = vectors[left].astype(np.float32) @ vectors[first].astype(np.float32)
        numbers = [first]
        for _ in range(int(rng.integers(1, 5))):
            near = products.copy()
            near[np.isin(left, numbers)] = -np.inf
            level = np.flatnonzero(near == near.max())
            if not np.isfinite(near.max()):
                break
            numbers.append(int(left[rng.choice(level)]))
            products = np.minimum(products, vectors[left].astype(np.float32) @ vectors[numbers[-1]])
        signs = [1] * len(numbers)
        if way == 7 and len(numbers) > 1:
            signs[-1] = -1
    text = "".join(
        f"{'-' if s < 0 else '+' if at else ''}{n}"
        for at, (n, s) in enumerate(zip(numbers, signs, strict=True))
    )
    vector = base_vector(vectors, text)
    base = np.vstack([state.base, vector])
    if np.linalg.matrix_rank(base) < len(base):
        return None
    column = np.rint(_single(state.lattice)[left] @ vector.astype(np.float32)).astype(np.int64)
    products = np.column_stack([state.products, column])
    return State(state.lattice, left, [*state.texts, text], base, products)


def _levels(state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inner products of each level, level of each vector, sizes."""
    weights = np.random.default_rng(0).integers(1, 2**40, state.products.shape[1])
    keys = state.products @ weights
    _, first, level, sizes = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return state.products[first], level, sizes


def _cosines(
    rng: np.random.Generator, state: State
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Products of the levels that are looked at, their sizes, and largest cosines between them."""
    products, level, sizes = _levels(state)
    single = _single(state.lattice)
    norm = float(single[0] @ single[0])
    inverse = np.linalg.inv((state.base @ state.base.T).astype(np.float64))
    lengths = norm - ((products @ inverse) * products).sum(axis=1)
    kept = np.flatnonzero(lengths > 1e-6 * norm)
    most = int(min(_MOST_LEVELS, max(8, _MOST_PRODUCTS / len(level))))
    if len(kept) > most:
        kept = kept[np.argsort(-sizes[kept], kind="stable")[:most]]
    if not len(kept):
        return None
    place = np.full(len(sizes), -1)
    place[kept] = np.arange(len(kept))
    inside = np.flatnonzero(place[level] >= 0)
    order = inside[np.argsort(place[level[inside]], kind="stable")]
    sorted_levels = place[level[order]]
    starts = np.searchsorted(sorted_levels, np.arange(len(kept)))
    sizes, products, lengths = sizes[kept], products[kept], lengths[kept]
    square = products @ inverse @ products.T
    rows = single[state.left[order]]
    largest = np.full((len(kept), len(kept)), -np.inf)
    for _ in range(2):
        chosen = starts + (rng.random(len(kept)) * sizes).astype(int)
        gram = rows[chosen] @ rows.T
        gram[np.arange(len(kept)), chosen] = -np.inf
        largest = np.maximum(largest, np.maximum.reduceat(gram, starts, axis=1))
    largest = np.maximum(largest, largest.T)
    cosines = (largest - square) / np.sqrt(np.outer(lengths, lengths))
    cosines[np.isneginf(largest)] = -1.0
    return products, sizes, cosines


def _unions(
    rng: np.random.Generator, sizes: np.ndarray, cosines: np.ndarray, largest: float
) -> Iterator[list[int]]:
    """Unions of levels, each of more rows and of a larger cosine than the one before."""
    own = cosines.diagonal()
    values: set[float] = set()
    for some in (own, cosines):  # half of them cosines within a level
        here = np.unique(some.round(8))
        here = here[(here > 0.0) & (here <= largest)]
        values |= set(rng.permutation(here)[: _THRESHOLDS // 2].tolist())
    most = 0
    for t in sorted(values):
        allowed = np.flatnonzero(own <= t + _EPS)
        if sizes[allowed].sum() <= most:
            continue
        fits = cosines[np.ix_(allowed, allowed)] <= t + _EPS
        weights = sizes[allowed]
        best, members = 0, []
        for number in range(_STARTS):
            # The levels by size, from the largest and the second on; then with noise.
            noise = rng.uniform(0.5, 1.5, len(weights)) if number > 1 else 1.0
            noisy = weights * noise
            start = int(np.argsort(-noisy, kind="stable")[min(number, 1, len(weights) - 1)])
            free = fits[start].copy()
            free[start] = False
            chosen, total = [start], weights[start]
            while (score := np.where(free, noisy, 0.0)).any():
                taken = int(score.argmax())
                chosen.append(taken)
                total += weights[taken]
                free &= fits[taken]
                free[taken] = False
            if total > best:
                best, members = int(total), allowed[chosen].tolist()
        if most < best <= _MOST_ROWS[len(members) > 1]:
            most = best
            yield members


@dataclass
class Union:
    """Some levels of a state."""

    state: State
    levels: np.ndarray
    """Their inner products with the base."""
    K: int
    cosine: float
    """The largest, of the pairs that were looked at."""

    @property
    def rows(self) -> np.ndarray:
        """Places of its vectors among those of the state."""
        mixing = np.random.default_rng(0).integers(1, 2**40, self.levels.shape[1])
        return np.flatnonzero(np.isin(self.state.products @ mixing, self.levels @ mixing))

    def restricted(self) -> State:
        """The state with no other vectors."""
        rows, whole = self.rows, self.state
        return State(whole.lattice, whole.left[rows], whole.texts, whole.base, whole.products[rows])


def _looked(rng: np.random.Generator, state: State, d: int) -> Iterator[Union]:
    """The largest unions of levels of a state."""
    looked = _cosines(rng, state)
    if looked is None:
        return
    products, sizes, cosines = looked
    for members in _unions(rng, sizes, cosines, _LARGEST if d >= 16 else _RANGES[-1]):
        largest = float(cosines[np.ix_(members, members)].max())
        yield Union(state, products[members], int(sizes[members].sum()), largest)


def _record(rng: np.random.Generator, union: Union, found: Found, run: str) -> None:
    """Keep a section where some of its rows confirm its cosine."""
    state = union.state
    vectors = _single(state.lattice)[state.left[union.rows]].astype(np.float64)
    axes, _ = np.linalg.qr(state.base.T.astype(np.float64))
    vectors -= (vectors @ axes) @ axes.T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    d = int(np.linalg.matrix_rank(vectors.T @ vectors, tol=1e-6))
    some = rng.permutation(len(vectors))[:_CHECKED]
    products = vectors[some] @ vectors.T
    products[np.arange(len(some)), some] = -1.0
    cosine = float(products.max())
    if len(vectors) <= found.most(d, cosine):
        return
    keys = vectors @ rng.standard_normal(vectors.shape[1])
    if len(np.unique(keys.round(9))) < len(keys):  # rows of two levels are one
        return
    row = {
        "d": d,
        "K": len(vectors),
        "cosine": cosine,
        "lattice": state.lattice,
        "base": " ".join(state.texts),
        "levels": " ".join(",".join(map(str, level)) for level in union.levels.tolist()),
        "run": run,
    }
    found.add(row)


def _state(row: dict[str, Any], out: int | None = None) -> State:
    """The vectors whose product with each base vector occurs in a level of a section: a superset of
    its rows. `out` is the place of a base vector that is left out."""
    texts = row["base"].split()
    levels = [tuple(map(int, re.split("[,/]", text))) for text in row["levels"].split()]
    if out is not None:
        texts = texts[:out] + texts[out + 1 :]
        levels = [level[:out] + level[out + 1 :] for level in levels]
    vectors = shortest(row["lattice"])
    base = np.array([base_vector(vectors, text) for text in texts], dtype=np.int64)
    base = base.reshape(len(texts), vectors.shape[1])
    left, products = np.arange(len(vectors)), np.zeros((len(vectors), 0), dtype=np.int64)
    for at, vector in enumerate(base):
        single = _single(row["lattice"])[left] @ vector.astype(np.float32)
        column = np.rint(single).astype(np.int64)
        kept = np.isin(column, [level[at] for level in levels])
        left, products = left[kept], np.column_stack([products[kept], column[kept]])
    return State(row["lattice"], left, texts, base, products)


def _some(rng: np.random.Generator, found: Found, lattice: str, d: int) -> list[dict[str, Any]]:
    """Some of the best sections of a lattice in d dimensions."""
    front = [row for row in found.front(d) if row["lattice"] == lattice]
    depth = shortest(lattice).shape[1] - d
    front = [row for row in front if len(row["base"].split()) == depth]
    return [front[i] for i in rng.permutation(len(front))[:_AGAIN]]


def descend(seed: int, number: int, found: Found) -> None:
    """One run: from a lattice, or from sections of one dimension, downwards."""
    rng = np.random.default_rng((seed, number))
    lattice = str(rng.choice(list(LATTICES), p=list(LATTICES.values())))
    width, tries = int(rng.integers(*_WIDTHS)), int(rng.integers(*_TRIES))
    restricted = rng.uniform(0.2, 1.0)
    n, D = shortest(lattice).shape
    none = np.zeros((n, 0), dtype=np.int64), np.zeros((0, D), dtype=np.int64)
    states, top = [State(lattice, np.arange(n), [], none[1], none[0])], D
    if rng.random() < _FROM_SECTIONS:
        top = int(rng.integers(D // 2, D))
        states = [_state(row) for row in _some(rng, found, lattice, top)]
    for d in range(top - 1, _LEAST - 1, -1):
        again = _some(rng, found, lattice, d)
        states += [_state(row, int(rng.integers(D - d))) for row in again]
        best: dict[int, dict[tuple[int, float], Union]] = defaultdict(dict)
        for state in states:
            for _ in range(tries):
                longer = _added(rng, state)
                if longer is None:
                    continue
                for union in _looked(rng, longer, d):
                    place = int(np.searchsorted(_RANGES, union.cosine - _EPS))
                    best[place][union.K, round(union.cosine, 6)] = union
            for place, unions in best.items():
                largest = sorted(unions.items(), key=lambda item: -item[1].K)
                best[place] = dict(largest[:width])
        states = []
        for unions in best.values():
            for union in unions.values():
                _record(rng, union, found, f"{seed}.{number}.{d}")
                fewer = rng.random() < restricted
                states.append(union.restricted() if fewer else union.state)
        states = list({id(state): state for state in states}.values())
        states = [state for state in states if len(state.left) >= _FEWEST_LEFT]


def shell_trial(seed: int, number: int, found: Found) -> None:
    """Levels of the Leech lattice's second shell: their sizes, for a base of a few vectors."""
    rng = np.random.default_rng((seed, number, 1))
    vectors = shortest("leech")
    single = _single("leech")
    texts: list[str] = []
    base = np.zeros((0, 24), dtype=np.int64)
    for _ in range(1 + number % 5):
        # Products with the base as in a root lattice, more often than not.
        wanted = rng.choice([0, -16] if rng.random() < 0.7 else [-16, -8, 0, 8, 16], len(base))
        fits = (single @ base.T.astype(np.float32) == wanted).all(axis=1)
        if not fits.any():
            return
        text = str(rng.choice(np.flatnonzero(fits)))
        if rng.random() < 0.2:
            text += f"+{rng.integers(len(vectors))}"
        texts.append(text)
        base = np.vstack([base, base_vector(vectors, text)])
    if np.linalg.matrix_rank(base) < len(base):
        return
    sizes: Counter[tuple[int, ...]] = Counter()
    for places, signs, forms in second_shell():
        keys = np.zeros((len(places), len(forms)), dtype=np.int64)
        for vector in base:
            weights = np.zeros(places.shape, dtype=np.float32)
            np.put_along_axis(weights, places, signs * vector.astype(np.float32), axis=1)
            products = np.rint(weights @ forms.T.astype(np.float32)).astype(np.int64)
            keys = 256 * keys + products + 128
        values, counts = np.unique(keys, return_counts=True)
        for key, count in zip(values.tolist(), counts.tolist(), strict=True):
            sizes[tuple((key >> 8 * at & 255) - 128 for at in range(len(base))[::-1])] += count
    inverse = np.linalg.inv((base @ base.T).astype(np.float64))
    for level, K in sizes.items():
        norm = 48 - float(np.array(level) @ inverse @ np.array(level))
        if norm < 17 or K < _SHELL_ROWS:
            continue
        d, cosine = 24 - len(base), (norm - 16) / norm
        if found.most(d, cosine) * _SHELL_GAIN > K:
            continue
        row = {
            "d": d,
            "K": K,
            "cosine": cosine,
            "lattice": SECOND_SHELL,
            "base": " ".join(texts),
            "levels": ",".join(map(str, level)),
            "run": f"{seed}.{number}.shell",
        }
        found.add(row)


def _exact(row: dict[str, Any]) -> dict[str, Any] | None:
    """A section as a line of the file: built and verified; None where rows repeat."""
    levels = row["levels"].replace(",", "/")
    try:
        rows = section_rows(row["d"], row["K"], row["lattice"], row["base"], levels)
    except ValueError:  # they do not span what they seemed to
        return None
    if row["lattice"] == SECOND_SHELL:
        square = Fraction((rows.norm - 16) / rows.norm) ** 2  # type: ignore[attr-defined]
    else:
        verified = rows.verify()
        if not verified.distinct:
            return None
        text = verified.max_cosine.text
        inner = re.fullmatch(r"sqrt\((.*)\)|1/sqrt\((.*)\)", text)
        square = Fraction(text) ** 2 if inner is None else Fraction(inner[1] or f"1/{inner[2]}")
    line = {name: row[name] for name in ("d", "K", "lattice", "base")} | {"levels": levels}
    return {**line, "square": str(square), "cosine": float(square) ** 0.5}


def _chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The front of each dimension: no other code in it or below, of the file or of the other
    constructions, and no two in orthogonal spaces, have as many rows and no larger cosine."""
    chosen: list[dict[str, Any]] = []

    def most(d: int, cosine: float) -> int:
        cosines, sizes = known(d)
        here = (r["K"] for r in chosen if r["d"] <= d and r["cosine"] <= cosine + _EPS)
        return max(sizes[bisect_right(cosines, cosine + _EPS)], max(here, default=0))

    for row in sorted(rows, key=lambda row: (row["d"], row["cosine"], -row["K"])):
        d, K, t = row["d"], row["K"], row["cosine"]
        rivals = [most(d, t), *(most(e, t) + most(d - e, t) for e in range(1, d // 2 + 1))]
        if d >= _LEAST and K >= _FEWEST and K > max(rivals):
            chosen.append(row)
    return chosen


def write_table(found: Found) -> None:
    """Verify what was found, choose, and write the file that `lattice_sections` reads."""
    rows = [r for r in found.rows if len(r["levels"].split()) <= _MOST_LEVELS_WRITTEN]
    rows.append({"d": 24, "K": 16773120, "lattice": SECOND_SHELL, "base": "", "levels": ""})
    exact = [line for row in rows if (line := _exact(row)) is not None]
    chosen = _chosen(exact)
    chosen.sort(key=lambda row: (row["d"], row["K"]))
    columns = ("d", "K", "square", "lattice", "base", "levels")
    with SECTIONS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(chosen)
    print(f"{len(exact)} of {len(rows)} verified, {len(chosen)} written to {SECTIONS}")


def report() -> str:
    """Entries of our copy of the table whose cosine only the families of `NEW` reach."""
    rows = []
    for entry in our_copy().select(range(9, 25)):
        if entry.K < _TABLE_FROM or entry.status == STATUS_CLAIMED:
            continue
        cosines, most = known(entry.d, NEW)
        others = min(
            t for t, K in zip([*cosines, 1.0], [*most[1:], entry.K], strict=True) if K >= entry.K
        )
        code = best_construction(entry.d, entry.K)
        if code is None or code.cosine.value > min(others - _EPS, entry.max_cosine + _TIE):
            continue
        verdict = "tie" if code.cosine.value > entry.max_cosine - _TIE else "below"
        decimals = f"{entry.max_cosine:.6f}", f"{code.cosine.value:.6f}"
        cells = [str(entry.d), str(entry.K), *decimals, code.cosine.text, code.origin, verdict]
        rows.append(cells)
    head = ["d", "K", "table", "max_cosine", "exactly", "construction", "beside the table"]
    return table(head, rows)


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", default="40m")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--second-shell", action="store_true")
    parser.add_argument("--table", action="store_true", help="write the file")
    parser.add_argument("--report", action="store_true")
    asked = parser.parse_args()
    if asked.report:
        print(report())
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    found = Found(asked.out / "found.jsonl")
    if asked.table:
        write_table(found)
        return
    name, run = ("shell", shell_trial) if asked.second_shell else ("", descend)
    counter, key = asked.out / "runs.json", f"{asked.seed}{name}"
    done = json.loads(counter.read_text()) if counter.exists() else {}
    number, end = done.get(key, 0), time.monotonic() + seconds(asked.time_limit)
    while time.monotonic() < end:
        run(asked.seed, number, found)
        number += 1
        done = json.loads(counter.read_text()) if counter.exists() else {}  # of other processes too
        counter.write_text(json.dumps({**done, key: number}))
    print(f"{number} runs of seed {asked.seed}, {len(found.rows)} sections")


if __name__ == "__main__":
    main()
