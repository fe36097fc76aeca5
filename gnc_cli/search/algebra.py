"""Codes from algebra within `solve`: listed, chosen, built, certified, held against a search's.

K rows up to `LARGE` are certified like any code. Beyond, the largest cosine is the one that the
construction's own structure proves, and the rows are made only where they are looked at or written.

Whether a construction is worth a search beside it is decided by yardsticks that cost nothing
(`near_optimal`, `promising`). Neither is a proof, and none enters a result.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import comb
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.codes.certify import Certified, certify_code
from gnc_cli.constructions.certificate import certified_margin
from gnc_cli.constructions.combine import embedded, first_rows
from gnc_cli.constructions.construction import Construction, Rows
from gnc_cli.constructions.registry import families, find, names, single_codes
from gnc_cli.errors import UsageError
from gnc_cli.geometry.second_order import UNDECIDED, SecondOrder
from gnc_cli.geometry.sphere import angle_from_chord
from gnc_cli.io.codefile import check_stream_target
from gnc_cli.known_codes.best import constructed
from gnc_cli.known_codes.table import stored_codes
from gnc_cli.metrics.records import Rattlers
from gnc_cli.parameters import spelled
from gnc_cli.search.effort import LARGE, MAX_UNKNOWNS
from gnc_cli.search.methods import TOLERANCE, assemble
from gnc_cli.search.request import Request, RuntimeOptions, given
from gnc_cli.search.result import ConstructionList, ConstructionRow, Outcome, SolveResult

_MOST_HELD = 1 << 26
"""Numbers of a code (512 MB) up to which its rows are held in memory."""
_EVERY_CLASS = 1e7
"""K^2 d up to which each class of a construction gets its own bracket."""
_MOST_EXAMINED = 1500
"""K d up to which a code is polished for the multipliers of the second-order test."""
_EXACT = 1e-12
"""Computed and exact cosine agree to this."""
_NEAR = {False: 1.45, True: 1.75}
"""Descents seldom come nearer to Welch's bound than this factor; those of more than `LARGE`
points (True) stay farther away from it."""
_PROMISING = 1.5
"""A start this near to Welch's bound may lead somewhere."""
_MOST_WORK = 2e10
"""K^2 d beyond which a descent of minutes only makes a beginning: a step takes seconds."""


STORED = "known"
"""What `--construction` takes for coordinates that this project ships."""
_OF_A_CODE = (
    "d",
    "K",
    "problem",
    "target",
    "construction",
    "table",
    "seed",
    "device",
    "threads",
    "out",
    "force",
    "plot",
)
"""The arguments of `solve` that have a meaning without a search."""


def list_constructions(asked: Mapping[str, Any]) -> ConstructionList:
    """Every code that `construction=` can name: single codes, then families with a parameter.

    Raises:
        UsageError: another argument of `solve` was given.
    """
    others = [spelled(name) for name in given(asked) if name != "list_constructions"]
    if others:
        raise UsageError(f"{spelled('list_constructions')} only lists; drop {', '.join(others)}")
    started = time.monotonic()
    rows = [
        ConstructionRow(c.name, c.title, str(c.d), str(c.K), c.cosine.text, c.proven, c.reference)
        for c in sorted(single_codes(), key=lambda c: (c.d, c.K))
    ]
    rows.append(
        ConstructionRow(
            STORED,
            "coordinates found by gnc, which it ships (give d and K)",
            "3..8",
            "up to 512",
            "as found",
            None,
            "best known codes of compare --list that nothing else builds",
        )
    )
    rows += [
        ConstructionRow(f.name, f"{f.title} ({f.range})", f.d, f.K, f.cosine, None, f.reference)
        for f in families()
    ]
    return ConstructionList(time.monotonic() - started, __version__, tuple(rows))


def named_construction(asked: Mapping[str, Any]) -> Construction:
    """The construction that the arguments of `solve` name: its first K rows, in d dimensions.

    Raises:
        UsageError: no such name, or it does not fit d, K or the other arguments.
    """
    name, d, K = (asked[key] for key in ("construction", "d", "K"))
    whole = find(name)
    if whole is None:
        raise UsageError(
            f"{spelled('construction')} {name!r} is not known{_hint(name)}; "
            f"see {spelled('list_constructions')}"
        )
    _check_no_search(asked)
    if d is not None and d < whole.d:
        raise UsageError(
            f"construction {name} needs {whole.d} dimensions; {spelled('d', d)} is too few"
        )
    if K is not None and K > whole.K:
        raise UsageError(f"construction {name} has {whole.K} rows; {spelled('K', K)} is too many")
    return embedded(first_rows(whole, K or whole.K), d or whole.d)


def stored_code(asked: Mapping[str, Any]) -> tuple[str, np.ndarray]:
    """The name and the rows (K, d) of the stored code that the arguments of `solve` ask for.

    Raises:
        UsageError: there is none of (d, K), or other arguments do not fit it.
    """
    _check_no_search(asked)
    d, K = asked["d"], asked["K"]
    found = next(stored_codes(d, K), None)
    if found is None:
        raise UsageError(
            f"no coordinates of d = {d:,}, K = {K:,} are stored; drop "
            f"{spelled('construction', STORED)} to build or find a code"
        )
    return found


def _check_no_search(asked: Mapping[str, Any]) -> None:
    unused = [option for option in given(asked) if option not in _OF_A_CODE]
    unused = ["problem", *unused] if asked["problem"] == "ufm" else unused
    if unused:
        drop = ", ".join(map(spelled, unused))
        raise UsageError(f"construction {asked['construction']} needs no search; drop {drop}")


def _hint(name: str) -> str:
    """What somebody who wrote `name` may have meant."""
    stem = name.rpartition("-")[0]
    ranges = [f.range for f in families() if stem and f.name.rpartition("-")[0] == stem]
    if ranges:
        return f": {stem}-.. takes {ranges[0]}"
    near = [full for full in names() if full.startswith(name)][:3]
    near = near or get_close_matches(name, names(), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


@dataclass(frozen=True)
class Choice:
    """A construction for the (d, K) asked."""

    construction: Construction
    alone: bool
    """No search is made beside it."""

    @property
    def streamed(self) -> bool:
        """Too large to hold: its rows are made block by block."""
        return self.construction.K * self.construction.d > _MOST_HELD


def choose(request: Request, *, limited: bool) -> Choice | None:
    """The best construction for (d, K), if there is one.

    A time limit or a target (`limited`) invites a search beside a code that is not proved optimal.
    """
    found = constructed(request.d, request.K)
    if found is None:
        return None
    choice = Choice(found, alone=found.proven or (not limited and near_optimal(found)))
    return replace(choice, alone=choice.alone or choice.streamed)


def check_streamed(out: Any, plot: Any) -> None:
    """Refuse what a code that is never whole in memory cannot give.

    Raises:
        UsageError: a plot, or a file format that is not written in chunks.
    """
    if plot is not None:
        raise UsageError(
            f"{spelled('plot')} needs the rows in memory, up to K d = {_MOST_HELD}; drop it"
        )
    if out is not None:
        check_stream_target(out)


def with_start(request: Request, choice: Choice) -> Request:
    """Let the search start from the construction too, where its rows are near a good code's."""
    whole = not choice.construction.changes
    if request.large or not (whole or promising(choice.construction)):
        return request
    return replace(request, init=np.asarray(choice.construction.build()))


def constructed_run(request: Request, runtime: RuntimeOptions, choice: Choice) -> SolveResult:
    """Build and certify."""
    construction = choice.construction
    contacts, bound, second = None, "", None
    with runtime.limited_threads(2.0 * request.K**2 * request.d):
        rows = construction.build()
        if request.large:
            weights = rows if choice.streamed else np.asarray(rows)
            certified, contacts, attained = _certified_by_algebra(rows, construction)
            bound = "" if attained else " (largest cosine: an upper bound)"
        else:
            weights = np.asarray(rows)
            certified = _certified_by_pairs(rows, weights, construction)
            second = _second_order(weights, construction, runtime)
    result = assemble(
        request,
        runtime,
        weights,
        certified,
        outcome=Outcome.CONSTRUCTED,
        origin=f"construction: {construction.origin}{bound}",
        second=second,
    )
    return result if contacts is None else replace(result, contacts=contacts)


def beaten(construction: Construction, found: SolveResult) -> bool:
    """Whether a search has found more than the construction has, whose rows are not certified yet:
    by its exact cosine, or by an upper end of its one-vs-rest distance."""
    if found.problem != "softmax":
        return found.max_cosine < construction.cosine.value - _EXACT
    margin = certified_margin(construction.build(), construction.cosine)
    return found.rho_one_vs_rest.lower > margin.upper + _EXACT


def better(constructed: SolveResult, found: SolveResult) -> SolveResult:
    """The better code by the problem's own measure; a tie goes to algebra.

    The time, and how a search ended, are those of the whole run.
    """
    if found.problem == "softmax":
        wins = found.rho_one_vs_rest.lower > constructed.rho_one_vs_rest.lower + _EXACT
    else:
        wins = found.max_cosine < constructed.max_cosine - _EXACT
    if wins:
        return found
    stopped = found.outcome in (Outcome.INTERRUPTED, Outcome.TIME_LIMIT)
    return replace(
        constructed,
        outcome=found.outcome if stopped else constructed.outcome,
        restarts=found.restarts,
        steps=found.steps,
        seconds=found.seconds,
        extras={**constructed.extras, "history": found.extras.get("history")},
    )


def _second_order(
    weights: np.ndarray, construction: Construction, runtime: RuntimeOptions
) -> SecondOrder | None:
    """Whether the code is a local minimum; None where it is proved optimal."""
    if construction.proven:
        return None
    if weights.size > _MOST_EXAMINED:
        return SecondOrder(UNDECIDED, f"codes from algebra of K d > {_MOST_EXAMINED} are untested")
    from gnc_cli.search.refine import examine

    return examine(weights, runtime.deadline)


def _certified_by_pairs(rows: Rows, weights: np.ndarray, construction: Construction) -> Certified:
    """All pairs of the rows as they are; the upper end of rho from a few classes of large codes."""
    (K, d), cosine = weights.shape, construction.cosine
    if K * K * d <= _EVERY_CLASS:
        found = certify_code(weights, tolerance=TOLERANCE)
    else:
        upper = certified_margin(rows, cosine).upper
        found = certify_code(weights, tolerance=TOLERANCE, upper_end=upper)
    exact = abs(found.max_cosine - cosine.value) <= _EXACT
    return replace(found, max_cosine=cosine.value) if exact else found


def _certified_by_algebra(
    rows: Rows, construction: Construction
) -> tuple[Certified, int | None, bool]:
    """Where there are too many pairs: what the structure proves, the pairs at the largest cosine
    (where counted), and whether that cosine is attained or only an upper bound."""
    verified = rows.verify()
    cosine = verified.max_cosine
    # In a code that looks alike from every row nobody is farther from the others than anybody.
    loose = 0 if construction.transitive else None
    chord = float(np.sqrt(2.0 - 2.0 * cosine.value))
    certified = Certified(
        max_cosine=cosine.value,
        min_angle=float(angle_from_chord(chord)),
        rho_one_vs_one=chord,
        rho_one_vs_rest=certified_margin(rows, cosine),
        rattlers=Rattlers(one_vs_one=loose, one_vs_rest=loose, tolerance=TOLERANCE),
    )
    pairs = verified.distribution
    return certified, pairs[0][1] if pairs else None, verified.attained


def near_optimal(construction: Construction) -> bool:
    """No descent of a few minutes is likely to do better: proved, near Welch's bound, or huge."""
    d, K = construction.d, construction.K
    near = construction.cosine.value <= _NEAR[K > LARGE] * welch(d, K)
    return construction.proven or (near and K * d > MAX_UNKNOWNS) or float(K) * K * d > _MOST_WORK


def promising(construction: Construction) -> bool:
    """Its cosine is so near to what codes of its size reach that a descent may start from it."""
    d, K = construction.d, construction.K
    return construction.cosine.value <= _PROMISING * max(welch(d, K), 1.0 / d)


def welch(d: int, K: int) -> float:
    """Welch's lower bound on the largest absolute cosine of K unit vectors in R^d.

    The best over powers k of `((K / binomial(d + k - 1, k) - 1) / (K - 1))^(1 / 2k)`. (L. R. Welch,
    Lower bounds on the maximum cross correlation of signals, 1974.) Antipodal codes have one line
    for two rows, which is what K / 2 stands for here.

    Example:
        >>> round(welch(512, 10000), 3)
        0.042
    """
    lines = K / 2
    bounds = [0.0]
    for k in range(1, 12):
        dimensions = comb(d + k - 1, k)
        if dimensions >= lines:
            break
        bounds.append(((lines / dimensions - 1.0) / (lines - 1.0)) ** (0.5 / k))
    return max(bounds)
