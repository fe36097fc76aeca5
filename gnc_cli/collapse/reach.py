"""Classes of a classifier that can win, and sets of classes that can win together.

The options of `measure` lead to records and proofs.
"""

import math
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.conventions import NONZERO, Conventions
from gnc_cli.collapse.dataset import Dataset
from gnc_cli.collapse.prepared import Prepared, class_of
from gnc_cli.collapse.result import ReachRow, ReachSummary
from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.rounding import spacing, stored_digits
from gnc_cli.geometry.sphere import row_norms
from gnc_cli.io.inputs import read_lines
from gnc_cli.io.row_files import column
from gnc_cli.metrics.decisions import equivalent_head
from gnc_cli.metrics.reach import LinearHead, Reach, Verdict
from gnc_cli.metrics.rows import Rows, block_rows, blocks
from gnc_cli.parameters import Lines, spelled
from gnc_cli.parsing import integer, quote
from gnc_cli.runtime.deadline import Deadline, Progress

_MAX_HARDEST_ROWS = 10
"""Number of classes listed that win by the smallest margin."""
_MAX_NORM_DEVIATION = 1e-6
"""Deviation of norms from 1 below which rows count as unit rows: above the rounding of float32."""
Answers = dict[tuple[int, ...], Reach]
"""Answers by set of classes, as positions among those of the head."""
_RANDOM = re.compile(r"random:(\d{1,9}):(\d{1,9}|\d{1,3}[kM])", re.ASCII)


def reach_fields(
    conventions: Conventions,
    samples: Dataset,
    prepared: Prepared,
    deadline: Deadline,
    threads: int,
    report: Progress | None,
) -> dict[str, Any]:
    """Return the fields of the result for `--reach` and `--sets`.

    With `--classes FILE` these classes are compared with all those of the head; classes left out
    for a weight of zero do not count.

    Raises:
        DataError: there is no classifier, all features are zero, or a set has other classes.
        UsageError: drawn sets would be larger than the head.
    """
    if samples.weights is None:
        raise DataError(
            f"{spelled('reach')} and {spelled('sets')} require a classifier, and there is none; "
            f"name it with {spelled('weights', 'F:KEY')}"
        )
    W, bias = equivalent_head(conventions.head, samples.weights, samples.bias)
    rivals = prepared.classes if conventions.classes == NONZERO else np.arange(len(W))
    norm = conventions.feature_norm or math.inf
    if conventions.feature_norm is None and samples.features is not None:
        assert samples.labels is not None
        norm = _largest_norm(samples.features, samples.labels)
    head = LinearHead(W[rivals], None if bias is None else bias[rivals], norm, deadline, threads)
    answers: dict[str, Answers] = {}
    if conventions.reach:
        positions = np.searchsorted(rivals, prepared.classes)
        progress = report and partial(report, "reach")
        answers["reach"] = {(k,): reach for k, reach in head.reaches(positions, progress).items()}
    if conventions.sets is not None:
        sets = _sets(conventions.sets, conventions.seed, rivals, prepared.K_in_file, prepared.names)
        progress = report and partial(report, "reach of sets")
        answers["reach_sets"] = dict(zip(sets, head.reach_sets(sets, progress), strict=True))
    fields: dict[str, Any] = {"witnesses": {}, "notes": ()}
    if len(rivals) < len(W):
        fields["notes"] += (
            f"{len(W) - len(rivals)} class(es) with a row of zeros are no rivals here, whatever "
            "their bias; the network may predict them",
        )
    dtype = stored_digits(samples.weights)
    eps, longest, offset = spacing(dtype), row_norms(head.W).max(), 2.0 * np.abs(head.bias).max()
    for name, reaches in answers.items():
        fields[name] = _summary(head, reaches, rivals, prepared.names)
        fields["witnesses"] |= _witnesses(name, reaches, rivals, head.d)
        # Before rounding a row w was off by at most eps / 2 |w|, a bias by eps |b| (also |w|^2 / 2
        # of a euclidean head), and a margin at a feature h by twice eps / 2 |h| |w| + eps |b|.
        uncertain = sum(
            reach.verdict is Verdict.CAN_WIN
            and reach.lower <= eps * (float(np.linalg.norm(reach.feature)) * longest + offset)
            for reach in reaches.values()
            if reach.feature is not None
        )
        text = f"{name}: {uncertain} of {len(reaches)} can win by a margin within the rounding"
        fields["notes"] += (f"{text} of the stored {dtype} numbers",) if uncertain else ()
    return fields


def _largest_norm(rows: Rows, labels: np.ndarray) -> float:
    """Return the largest norm among the features, (N, d), of a label other than -1.

    Raises:
        DataError: all features are zero.
    """
    largest = 0.0
    for start, stop in blocks(rows.shape[0], block_rows(rows)):
        norms = row_norms(rows.read(start, stop).astype(np.float64))[labels[start:stop] >= 0]
        largest = max(largest, float(norms.max(initial=0.0)))
    if not largest:
        raise DataError(
            f"all features are zero, so {spelled('reach')} has no norm to take from them; give "
            f"{spelled('feature_norm', 'R')}"
        )
    return largest


def _sets(
    option: str | Lines, seed: int, rivals: np.ndarray, K: int, names: list[str] | None
) -> list[tuple[int, ...]]:
    """Return the sets of `--sets`, as positions in `rivals`, shape (m,), each once.

    Raises:
        DataError: a set has classes that are not measured.
        UsageError: drawn sets would be larger than the head.
    """
    match = _RANDOM.fullmatch(str(option))
    if match is not None:
        size, count = int(match[1]), integer(match[2])
        if not 0 < size < len(rivals):
            raise UsageError(
                f"{spelled('sets', option)} requires 1 to {len(rivals) - 1} classes per set"
            )
        rng = np.random.default_rng(seed)
        choices = (rng.choice(len(rivals), size, replace=False) for _ in range(count))
        return list(dict.fromkeys(tuple(sorted(choice.tolist())) for choice in choices))
    if str(option).startswith("random:"):
        raise UsageError(
            f"{spelled('sets', option)} is not random:K:N; give random:2:1000 for 1000 sets "
            "of 2 classes"
        )
    places = {name: k for k, name in enumerate(names or [])}
    sets: dict[tuple[int, ...], None] = {}
    for number, line in enumerate(read_lines(option), start=1):
        location = f"{quote(option)}, line {number}"
        words = [word.strip() for word in line.split("," if "," in line else None)]
        classes = sorted({class_of(word, K, places, location) for word in words if word})
        if classes and (len(classes) == len(rivals) or not np.isin(classes, rivals).all()):
            raise DataError(
                f"{location}: the set holds all {K} classes, or one that is left out; leave a "
                "class to win against, and name classes that are measured"
            )
        if classes:
            sets[tuple(np.searchsorted(rivals, classes).tolist())] = None
    if not sets:
        raise DataError(f"{quote(option)} has no sets; give one per line, such as 3, 5")
    return list(sets)


def _summary(
    head: LinearHead, answers: Answers, rivals: np.ndarray, names: list[str] | None
) -> ReachSummary:
    """Return the counts of the verdicts on classes or sets, and the listed rows."""

    def names_of(positions: Iterable[int]) -> tuple[str, ...] | None:
        return tuple(names[rivals[position]] for position in positions) if names else None

    rows: dict[Verdict, list[ReachRow]] = {verdict: [] for verdict in Verdict}
    for subject, reach in answers.items():
        twin = [] if reach.twin is None else [reach.twin]
        rows[reach.verdict].append(
            ReachRow(
                labels=tuple(rivals[list(subject)].tolist()),
                names=names_of(subject),
                margin=Bracket(reach.lower, reach.upper),
                twin=int(rivals[twin[0]]) if twin else None,
                twin_name=(names_of(twin) or (None,))[0] if twin else None,
            )
        )
    unreachable, tied, undecided, able = (
        tuple(rows[verdict])
        for verdict in (Verdict.CANNOT_WIN, Verdict.TIES, Verdict.UNDECIDED, Verdict.CAN_WIN)
    )
    # If time ran out, few classes have an upper end.
    hardest = sorted(able, key=lambda row: (row.margin.upper, row.margin.lower))
    best, m, k = None, head.K, len(next(iter(answers)))
    unit = np.abs(row_norms(head.W) - 1.0).max() < _MAX_NORM_DEVIATION
    if unit and not head.biased and {len(subject) for subject in answers} == {k}:
        radius = head.norm if math.isfinite(head.norm) else 1.0
        best = radius * m / math.sqrt(k * (m - 1) * (m - k))
    return ReachSummary(
        feature_norm=head.norm,
        biased=head.biased,
        subjects=len(answers),
        rivals=m,
        can_win=len(able),
        unreachable=Bracket(len(unreachable), len(unreachable) + len(undecided)),
        ties=Bracket(len(tied), len(tied) + len(undecided)),
        undecided=len(undecided),
        unreachable_rows=unreachable,
        tied_rows=tied,
        undecided_rows=undecided,
        hardest_rows=tuple(hardest[: _MAX_HARDEST_ROWS if head.ranked else 0]),
        best_possible=best,
    )


def _witnesses(group: str, answers: Answers, rivals: np.ndarray, d: int) -> dict[str, np.ndarray]:
    """Return the proofs as datasets of a group of an HDF5 file.

    Lists are concatenated, and offsets give the start of each.
    """
    reaches = list(answers.values())
    no_feature, no_weights = np.full(d, np.nan), (np.zeros(0, dtype=np.intp), np.zeros(0))
    weights = [reach.weights or no_weights for reach in reaches]
    return {
        f"/{group}/classes": rivals[np.concatenate([list(subject) for subject in answers])],
        f"/{group}/class_offsets": np.cumsum([0, *map(len, answers)]),
        f"/{group}/verdicts": column([str(reach.verdict) for reach in reaches]),
        f"/{group}/lower": np.array([reach.lower for reach in reaches]),
        f"/{group}/upper": np.array([reach.upper for reach in reaches]),
        f"/{group}/features": np.array(
            [no_feature if r.feature is None else r.feature for r in reaches]
        ),
        f"/{group}/indices": rivals[np.concatenate([indices for indices, _ in weights])],
        f"/{group}/weights": np.concatenate([values for _, values in weights]),
        f"/{group}/weight_offsets": np.cumsum([0, *(len(values) for _, values in weights)]),
    }
