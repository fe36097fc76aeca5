"""Decisions on samples against the slow reference, on features of every awkward kind.

Where a decision hangs on less than rounding (a tie), either answer is right: counts must lie
between the samples that are surely right and those that may be.
"""

import numpy as np
import pytest
from hypothesis import given, settings

from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions, stream_decisions
from gnc_cli.numerics.rows import ArrayRows
from tests.metrics import reference
from tests.metrics.strategies import CollapseData, collapse_data

examples = settings(max_examples=40, deadline=None)


def bounds(
    scores: np.ndarray, labels: np.ndarray, K: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """By class: samples surely right, and samples that may be, ties being open to rounding."""
    sure, maybe = np.zeros(K, dtype=int), np.zeros(K, dtype=int)
    for row, y in zip(scores, labels, strict=True):
        others = np.delete(row, y).max()
        sure[y] += row[y] > others + slack
        maybe[y] += row[y] >= others - slack
    return sure, maybe


def check(counts: np.ndarray | None, ends: tuple[np.ndarray, np.ndarray]) -> None:
    assert counts is not None
    assert (ends[0] <= counts).all() and (counts <= ends[1]).all(), (ends, counts)


def best(scores: np.ndarray, slack: float) -> list[set[int]]:
    """The classes that each sample may be given."""
    return [set(np.flatnonzero(s >= s.max() - slack).tolist()) for s in scores]


def decisions_of(data: CollapseData, block: int | None, unit: bool) -> tuple[Decisions, np.ndarray]:
    rows = reference.unit(data.rows) if unit else data.rows
    moments = ClassMoments(rows.shape[1], data.K)
    moments.update(rows, data.classes)
    found = stream_decisions(
        ArrayRows(data.features), data.classes, weights=data.W, bias=data.bias,
        means=moments.means, present=moments.present, own_counts=moments.counts, unit=unit,
        block=block, workers=1 if block is None else 2,
    )  # fmt: skip
    return found, rows


@examples
@given(collapse_data())
def test_decisions(data: CollapseData) -> None:
    labels, K = data.classes, data.K
    counts = [(labels == k).sum() for k in range(K)]
    for block, unit in ((None, True), (4, True), (None, False)):
        found, rows = decisions_of(data, block, unit)
        logit_slack = 1e-12 * (1.0 + float(np.abs(data.rows).max()) * float(np.abs(data.W).max()))
        scores = reference.classifier_scores(data.rows, data.W, data.bias)
        check(found.right, bounds(scores, labels, K, logit_slack))
        assert found.counted.tolist() == counts

        means = reference.class_means(rows, labels)
        slack = 1e-12 * float((rows**2).sum(axis=1).max())
        nearest = reference.nearest_mean_scores(rows, means, K)
        check(found.ncc_right, bounds(nearest, labels, K, slack))
        alone = np.array([(labels == y).sum() == 1 for y in labels])
        assert found.loo_counted.tolist() == [c if c > 1 else 0 for c in counts]
        left_out = reference.leave_one_out_scores(rows, labels, K)[~alone]
        check(found.loo_right, bounds(left_out, labels[~alone], K, slack))

        pairs = list(zip(best(scores, logit_slack), best(nearest, slack), strict=True))
        sure = sum(a == b and len(a) == 1 for a, b in pairs)
        assert found.agree is not None
        assert sure <= found.agree <= sum(bool(a & b) for a, b in pairs)


@examples
@given(collapse_data())
def test_sample_margins(data: CollapseData) -> None:
    found, _ = decisions_of(data, 6, True)
    margins = reference.sample_margins(
        reference.unit(data.rows), data.classes, reference.unit(data.W)
    )
    assert found.positive is not None and found.margin_min is not None
    assert found.margin_sum is not None
    for k in range(data.K):
        own = margins[data.classes == k]
        assert (own > 1e-13).sum() <= found.positive[k] <= (own > -1e-13).sum()
        assert found.margin_min[k] == pytest.approx(own.min(initial=np.inf), rel=1e-10, abs=1e-14)
        # Sums are of margins on a grid of 2^-32, so that no order of samples changes them.
        assert abs(found.margin_sum[k] - own.sum()) <= len(own) * (2.0**-33 + 1e-13)
