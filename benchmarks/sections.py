"""A search for sections of lattices: what `lattice_sections` has as data is what this finds.

    python -m benchmarks.sections --time-limit 40m                # goes on where it ended
    python -m benchmarks.sections --sums --seed 1 --time-limit 40m
    python -m benchmarks.sections --second-shell --time-limit 5m  # of the Leech lattice
    python -m benchmarks.sections --table 500                     # makes lattice_sections.csv
    python -m benchmarks.sections --report                        # beside the table of known codes

A trial goes down from a lattice's shortest vectors. Each step adds a base vector at random (a
vector of what is left, the sum or the difference of some), sorts the vectors that are left by their
inner products with the base, and looks for the largest unions of these levels at each largest
cosine: by the products of a few vectors of each level with all others, and greedy cliques. What has
more rows than all codes of gnc at this cosine is built and verified exactly. Then some of the
levels are kept. Trial n of a seed is always the same; no figure of a table enters.

The folder has `trials.json`, the trials done of each seed, and `found.jsonl`, a row per section.
"""

import argparse
import csv
import json
import re
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

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
from gnc_cli.known_codes.best import our_copy
from gnc_cli.known_codes.table import CLAIMED, numerical_codes
from gnc_cli.parsing import duration

LATTICES = {"leech": 0.7, "barnes-wall": 0.25, "e8-roots": 0.05}
"""With the share of trials that each gets."""
FOLDER = Path(__file__).parent / "work" / "sections"
_MOST_COSINE = {16: 0.7, 25: 0.5}
"""Largest cosines in less than so many dimensions: beyond, other codes are better."""
_MOST_PRODUCTS = 4e7
_MOST_LEVELS = 250
_THRESHOLDS = 24
_STARTS = 6
_FROM_FOUND = 0.45
_BROAD = (0.35, 5)
"""A share of the trials keeps all levels of the first base vectors."""
_MOST_ROWS = (60_000, 6000)
"""Rows of a section of one level, and of a union, that is looked at."""
_CHECKED = 200
_GAIN = 1.03
"""A section has this many times the rows of what is known."""
FAMILY = "section-"
SECTIONS = Path(lattice_sections.__file__).with_suffix(".csv")
_SHELL_ROWS = 50_000
_SHELL_GAIN = 1.05
_LEAST_GAIN = 0.005
_FEWEST = 100
_TIE = 1e-11
NEW = (FAMILY, "signed-quadruples-", "odd-signs-")
"""Families of which `--report` says where they reach the table."""
_MOST_LEVELS_WRITTEN = 12
_EPS = 1e-8
"""Cosines that are nearer are one."""
_DEPTH = 17


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
    """What was found, and the most rows by dimension."""

    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: dict[int, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                self._add(json.loads(line))

    def most(self, d: int, cosine: float) -> int:
        """The most rows in d dimensions with at most this cosine, found or known before."""
        found = max((K for t, K in self.best[d] if t <= cosine + _EPS), default=0)
        cosines, rows = known(d)
        return max(found, rows[bisect_right(cosines, cosine + _EPS)])

    def drawn(self, rng: np.random.Generator, evenly: bool) -> dict[str, Any] | None:
        """One of the best sections of a dimension, or of dimensions evenly."""
        if not self.rows:
            return None
        here = self.rows[int(rng.integers(len(self.rows)))]["d"]
        if evenly:
            here = int(rng.choice(sorted({row["d"] for row in self.rows})))
        best = {(round(t, 9), K) for t, K in self.best[here]}
        rows = [r for r in self.rows if r["d"] == here]
        rows = [r for r in rows if (round(r["cosine"], 9), r["K"]) in best] or rows
        return rows[int(rng.integers(len(rows)))]

    def add(self, row: dict[str, Any]) -> None:
        """Keep a section."""
        self._add(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def _add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        t, K = row["cosine"], row["K"]
        for d in range(row["d"], 25):
            held = [(s, n) for s, n in self.best[d] if s < t - _EPS or n > K]
            self.best[d] = [*held, (t, K)]


@dataclass
class State:
    """Vectors that are left, the base, and their inner products."""

    lattice: str
    left: np.ndarray
    texts: list[str]
    base: np.ndarray
    products: np.ndarray


def _added(rng: np.random.Generator, state: State, sums: bool) -> tuple[str, np.ndarray] | None:
    """A base vector: its text, and itself; `sums` of two more often."""
    vectors = shortest(state.lattice)
    left = state.left
    way = int(rng.choice([0, 4, 5, 5, 5, 5, 6, 7])) if sums else int(rng.integers(8))
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
    wider = np.vstack([state.base, vector])
    if np.linalg.matrix_rank(wider) < len(wider):
        return None
    return text, vector


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
    rng: np.random.Generator,
    sizes: np.ndarray,
    cosines: np.ndarray,
    most_cosine: float,
    most: Callable[[float], int],
) -> Iterator[list[int]]:
    """Unions of levels with more rows than `most(cosine)`."""
    own = cosines.diagonal()
    values: set[float] = set()
    for some in (own, cosines):  # half of them cosines within a level
        here = np.unique(some.round(8))
        here = here[(here > 0.0) & (here <= most_cosine)]
        values |= set(rng.permutation(here)[: _THRESHOLDS // 2].tolist())
    last = 0
    for t in sorted(values):
        allowed = np.flatnonzero(own <= t + _EPS)
        bar = max(last, most(t))
        if sizes[allowed].sum() <= _GAIN * bar:
            continue
        fits = cosines[np.ix_(allowed, allowed)] <= t + _EPS
        weights = sizes[allowed]
        best, members = 0, []
        for number in range(_STARTS):
            # The levels by size; then with noise.
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
        if best > _GAIN * bar and best <= _MOST_ROWS[len(members) > 1]:
            last = best
            yield members


def _record(
    rng: np.random.Generator, state: State, levels: np.ndarray, found: Found, trial: str
) -> None:
    """Keep a section where some of its rows confirm its cosine."""
    mixing = np.random.default_rng(0).integers(1, 2**40, levels.shape[1])
    here = np.flatnonzero(np.isin(state.products @ mixing, levels @ mixing))
    if len(here) > _MOST_ROWS[len(levels) > 1]:
        return
    vectors = _single(state.lattice)[state.left[here]].astype(np.float64)
    axes, _ = np.linalg.qr(state.base.T.astype(np.float64))
    vectors -= (vectors @ axes) @ axes.T
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    d = int(np.linalg.matrix_rank(vectors[rng.permutation(len(vectors))[:400]], tol=1e-6))
    some = rng.permutation(len(vectors))[:_CHECKED]
    products = vectors[some] @ vectors.T
    products[np.arange(len(some)), some] = -1.0
    cosine = float(products.max())
    if len(here) < _GAIN * found.most(d, cosine):
        return
    row = {
        "d": d,
        "K": len(here),
        "cosine": cosine,
        "lattice": state.lattice,
        "base": " ".join(state.texts),
        "levels": " ".join(",".join(map(str, level)) for level in levels.tolist()),
        "trial": trial,
    }
    found.add(row)


def _restricted(rng: np.random.Generator, state: State) -> State:
    """Some of the levels of the last base vector, or all."""
    last = state.products[:, -1]
    values, counts = np.unique(last, return_counts=True)
    way = rng.random()
    if way < 0.2:
        kept = np.ones(len(last), dtype=bool)
    elif way < 0.8:
        weights = counts**0.4
        kept = last == rng.choice(values, p=weights / weights.sum())
    else:
        size = np.abs(values - rng.choice(values))
        kept = np.isin(last, values[size <= size[rng.integers(len(size))]])
    return State(state.lattice, state.left[kept], state.texts, state.base, state.products[kept])


def _begun(rng: np.random.Generator, found: Found, sums: bool) -> State:
    """Where a trial begins: all vectors, or near a section found, one base vector left out."""
    row = found.drawn(rng, sums) if rng.random() < _FROM_FOUND else None
    lattice = row["lattice"] if row else str(rng.choice(list(LATTICES), p=list(LATTICES.values())))
    vectors = shortest(lattice)
    texts = row["base"].split() if row else []
    levels = [tuple(map(int, text.split(","))) for text in row["levels"].split()] if row else []
    if texts:
        out = int(rng.integers(len(texts)))
        texts = texts[:out] + texts[out + 1 :]
        levels = [level[:out] + level[out + 1 :] for level in levels]
    base = np.array([base_vector(vectors, text) for text in texts], dtype=np.int64)
    base = base.reshape(len(texts), vectors.shape[1])
    products = np.rint(_single(lattice) @ base.T.astype(np.float32)).astype(np.int64)
    left = np.arange(len(vectors))
    for at in range(len(texts)):
        kept = np.isin(products[:, at], [level[at] for level in levels])
        left, products = left[kept], products[kept]
    return State(lattice, left, texts, base, products)


def trial(seed: int, number: int, found: Found, sums: bool) -> None:
    """One way down."""
    rng = np.random.default_rng((seed, number))
    state = _begun(rng, found, sums)
    broad = rng.random() < _BROAD[0]
    D = shortest(state.lattice).shape[1]
    for depth in range(len(state.base) + 1, min(_DEPTH, D - 3)):
        added = None
        for _ in range(5):
            added = added or _added(rng, state, sums)
        if added is None:
            return
        text, vector = added
        column = np.rint(_single(state.lattice)[state.left] @ vector.astype(np.float32))
        state = State(
            state.lattice,
            state.left,
            [*state.texts, text],
            np.vstack([state.base, vector]),
            np.column_stack([state.products, column.astype(np.int64)]),
        )
        looked = _cosines(rng, state)
        if looked is not None:
            products, sizes, cosines = looked
            d = D - depth
            most_cosine = _MOST_COSINE[16 if d < 16 else 25]
            most = partial(found.most, d)
            for members in _unions(rng, sizes, cosines, most_cosine, most):
                _record(rng, state, products[members], found, f"{seed}.{number}.{depth}")
        if not broad or depth > _BROAD[1]:
            state = _restricted(rng, state)
        if len(state.left) < 24:
            return


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
            "trial": f"{seed}.{number}.shell",
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


def _chosen(rows: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """The sections that lower the best known cosines most, one after the other.

    What counts is the mean, over sizes in a geometric row and all dimensions, of the share by which
    the least cosine falls, with a code of more rows or fewer dimensions where there is none of that
    size; the other constructions and the stored codes are there from the beginning. Smaller codes
    than `_FEWEST` are left to the search.
    """
    dimensions = np.arange(4, 25)
    sizes = np.unique(np.geomspace(_FEWEST, 1.7e7, 600).astype(int))
    best = np.ones((len(dimensions), len(sizes)))
    for at, d in enumerate(dimensions.tolist()):
        cosines, most = known(d)
        reached = np.searchsorted(most[1:], sizes)
        best[at] = np.append(cosines, 1.0)[reached]
        stored = [code for code in numerical_codes().best_first if code.d <= d]
        for code in stored:
            here = best[at, : np.searchsorted(sizes, code.K, side="right")]
            np.minimum(here, code.max_cosine, out=here)
    chosen = []
    for _ in range(number):
        gains = []
        for row in rows:
            part = best[dimensions >= row["d"]][:, sizes <= row["K"]]
            gains.append(np.maximum(0.0, 1.0 - row["cosine"] / np.maximum(part, 1e-9)).sum())
        at = int(np.argmax(gains))
        if gains[at] < _LEAST_GAIN:
            break
        row = rows[at]
        chosen.append(row)
        reach = np.ix_(dimensions >= row["d"], sizes <= row["K"])
        best[reach] = np.minimum(best[reach], row["cosine"])
    return chosen


def write_table(found: Found, number: int) -> None:
    """Verify what was found, choose, and write the file that `lattice_sections` reads."""
    front = {(round(t, 9), K) for best in found.best.values() for t, K in best}
    rows = [r for r in found.rows if (round(r["cosine"], 9), r["K"]) in front]
    rows = [r for r in rows if len(r["levels"].split()) <= _MOST_LEVELS_WRITTEN]
    rows.append({"d": 24, "K": 16773120, "lattice": SECOND_SHELL, "base": "", "levels": ""})
    exact = [line for row in rows if (line := _exact(row)) is not None]
    chosen = _chosen(exact, number)
    # Of one size in one dimension the best is chosen first or the other is no longer needed.
    chosen = [
        row
        for row in chosen
        if not any(
            r is not row
            and r["d"] <= row["d"]
            and r["K"] >= row["K"]
            and r["cosine"] <= row["cosine"]
            for r in chosen
        )
    ]
    chosen.sort(key=lambda row: (row["d"], row["K"]))
    columns = ("d", "K", "square", "lattice", "base", "levels")
    with SECTIONS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(chosen)
    print(f"{len(rows)} of {len(found.rows)} verified, {len(chosen)} written to {SECTIONS}")


def report() -> str:
    """Entries of our copy of the table whose cosine only the families of `NEW` reach."""
    rows = []
    for entry in our_copy().select(range(9, 25)):
        if entry.K < _FEWEST or entry.status == CLAIMED:
            continue
        cosines, most = known(entry.d, NEW)
        others = min(
            t for t, K in zip([*cosines, 1.0], [*most[1:], entry.K], strict=True) if K >= entry.K
        )
        code = best_construction(entry.d, entry.K)
        if code is None or code.cosine.value > min(others - _EPS, entry.max_cosine + _TIE):
            continue
        verdict = "tie" if code.cosine.value > entry.max_cosine - _TIE else "below"
        figures = f"{entry.max_cosine:.6f}", f"{code.cosine.value:.6f}"
        cells = [str(entry.d), str(entry.K), *figures, code.cosine.text, code.origin, verdict]
        rows.append(cells)
    head = ["d", "K", "table", "max_cosine", "exactly", "construction", "beside the table"]
    return table(head, rows)


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", default="40m")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--sums", action="store_true", help="base vectors are sums more often")
    parser.add_argument("--second-shell", action="store_true")
    parser.add_argument("--table", type=int, metavar="MOST", help="write so many sections at most")
    parser.add_argument("--report", action="store_true")
    asked = parser.parse_args()
    if asked.report:
        print(report())
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    found = Found(asked.out / "found.jsonl")
    if asked.table:
        write_table(found, asked.table)
        return
    name, one = (
        ("shell", shell_trial) if asked.second_shell else ("", partial(trial, sums=asked.sums))
    )
    counter, key = asked.out / "trials.json", f"{asked.seed}{name}"
    done = json.loads(counter.read_text()) if counter.exists() else {}
    number, end = done.get(key, 0), time.monotonic() + duration(asked.time_limit)
    while time.monotonic() < end:
        one(asked.seed, number, found)
        number += 1
        counter.write_text(json.dumps({**done, key: number}))
    print(f"{number} trials of seed {asked.seed}, {len(found.rows)} sections")


if __name__ == "__main__":
    main()
