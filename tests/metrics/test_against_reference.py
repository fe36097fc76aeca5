"""The fast code against the slow one, on features of every awkward kind.

The tolerance is 1e-10 relative, plus what rounding must cost: rows of length `scale` hold
differences no better than `eps * scale`, so a quantity made of differences of size s is known to
`eps * scale / s`, and a pseudo-inverse multiplies by its condition number. Where the rank of a
covariance hangs on rounding, either answer is right.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given

from gnc_cli.metrics.class_moments import ClassMoments, stream_moments
from gnc_cli.metrics.gnc1 import gnc1, gnc1_forms
from gnc_cli.metrics.gnc2 import gnc2, gnc2_detail
from gnc_cli.metrics.gnc3 import gnc3, gnc3_forms
from gnc_cli.metrics.rows import ArrayRows, Pass
from tests.metrics import reference
from tests.metrics.strategies import CollapseData, collapse_data
from tests.metrics.test_variants import classic

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Digits:
    """What can be known of features in float64."""

    scale: float
    """Longest row."""
    within: float
    """Relative error of Sigma_W and of spreads: rows as stored give all their digits, at any
    collapse, but a row that was scaled to norm 1 is off by eps of its length."""
    floor: float
    """Absolute error of squared deviations: all there is where nothing varies."""
    between: float
    """Relative error of centred means and of their distances, at the worst."""
    quotient: dict[bool, tuple[float, float]]
    """Relative and absolute error of `tr(Sigma_W pinv(Sigma_B)) / K`, Sigma_B centred or not;
    infinite where the rank of Sigma_B hangs on rounding."""


def digits(rows: np.ndarray, labels: np.ndarray, as_stored: bool = False) -> Digits:
    means = reference.class_means(rows, labels)
    scale = float(np.linalg.norm(rows, axis=1).max())
    deviation = np.sqrt(max(reference.class_variances(rows, labels).values()))
    M = reference.centred_rows(means)
    K, d = M.shape
    lengths = [x for x in np.linalg.norm(M, axis=1).tolist() if x]
    gaps = [
        x for k in range(K) for j in range(k) if (x := float(np.linalg.norm(M[k] - M[j]))) > 0.0
    ]
    smallest = min(lengths + gaps, default=scale)
    within = 1e-10 + (0.0 if as_stored or deviation == 0.0 else 40.0 * EPS * scale / deviation)
    floor = (40.0 * EPS * scale) ** 2
    between = 1e-10 + 40.0 * EPS * scale / smallest
    quotient = {}
    for centred in (False, True):
        values = np.linalg.eigvalsh(reference.between_covariance(means, centred))
        top = max(values[-1], 1e-300)
        cutoff = max(K, d) * EPS * top
        kept = values[values > cutoff]
        if not len(kept) or kept.min() < 1e4 * cutoff:
            quotient[centred] = (np.inf, np.inf)
            continue
        rel = within + 4.0 * between + 100.0 * EPS * top / kept.min()
        # Spread across the range of Sigma_B enters by rounding alone.
        quotient[centred] = (rel, (floor + 100.0 * EPS * deviation**2) / kept.min())
    return Digits(scale, within, floor, between, quotient)


def moments_of(rows: np.ndarray, labels: np.ndarray, K: int, pieces: int = 1) -> ClassMoments:
    """In `pieces` updates, merged from two halves."""
    parts = []
    for half in np.array_split(np.arange(len(rows)), 2):
        moments = ClassMoments(rows.shape[1], K)
        for at in np.array_split(half, pieces):
            moments.update(rows[at], labels[at])
        parts.append(moments)
    parts[0].merge(parts[1])
    return parts[0]


def agree(got: float | None, want: float | None, rel: float, absolute: float, what: str) -> None:
    if want is None or got is None:
        assert got is want, what
    else:
        assert got == pytest.approx(want, rel=rel, abs=absolute), what


def each_space(data: CollapseData) -> list[tuple[np.ndarray, Digits]]:
    """Raw rows, then unit rows."""
    unit = reference.unit(data.rows)
    return [
        (data.rows, digits(data.rows, data.classes, as_stored=True)),
        (unit, digits(unit, data.classes)),
    ]


@given(collapse_data())
def test_streamed_moments_are_the_same_whatever_the_blocks(data: CollapseData) -> None:
    K, labels = data.K, data.classes
    for block, workers in ((None, 1), (5, 2)):
        (found,) = stream_moments(
            [ArrayRows(data.features)],
            labels,
            K,
            ("unit", "raw"),
            [{}],
            ["features"],
            Pass(block=block, workers=workers),
        )
        for space, (rows, known) in zip(("raw", "unit"), each_space(data), strict=True):
            moments = found[space]
            within = reference.within_covariance(rows, labels)
            error = np.linalg.norm(moments.within_cov() - within)
            assert error <= known.within * np.linalg.norm(within) + known.floor
            for k, m in reference.class_means(rows, labels).items():
                assert moments.means[k] == pytest.approx(m, rel=1e-12, abs=40 * EPS * known.scale)


@given(collapse_data())
def test_gnc1_and_gnc3(data: CollapseData) -> None:
    rows, labels = reference.unit(data.rows), data.classes
    known, means = digits(rows, labels), reference.class_means(rows, labels)
    rel, absolute = known.quotient[False]
    one = gnc1(rows, labels)
    assert one is not None
    agree(one.value, reference.gnc1(rows, labels), rel, absolute, "gnc1")
    W = reference.unit(data.W)
    present = sorted(means)
    moments = moments_of(rows, labels, data.K)
    assert gnc3(W[present], moments.means[present]) == pytest.approx(
        reference.gnc3(W, means), rel=1e-10, abs=1e-14
    )


@given(collapse_data())
def test_centred_forms(data: CollapseData) -> None:
    rows, labels = reference.unit(data.rows), data.classes
    known, W = digits(rows, labels), reference.unit(data.W)
    moments = moments_of(rows, labels, data.K)
    means = moments.means[moments.present]
    found = gnc1_forms(moments.within_cov(), means)["gnc1_centred"]
    value = None if found is None else found.value
    agree(value, reference.gnc1_centred(rows, labels), *known.quotient[True], "gnc1")
    want = reference.gnc3_centred(W, reference.class_means(rows, labels))
    centred = gnc3_forms(W[moments.present], means)["gnc3_centred"]
    agree(centred, want, known.between, known.between, "gnc3")


@given(collapse_data())
def test_classic(data: CollapseData) -> None:
    rows, labels, W = data.rows, data.classes, data.W
    known = digits(rows, labels, as_stored=True)
    # Means that nearly coincide have few digits to compare; exact coincidence is defined.
    assume(known.between < 1e-6)
    want = reference.classic(rows, labels, W)
    if len(np.unique(labels)) == len(labels):  # no class has a spread
        want |= dict.fromkeys(("nc1", "nc1_trace_quotient", "cdnv"))
    found = classic(moments_of(rows, labels, data.K), W)
    assert found.keys() == want.keys() | {"pair_rows", "pair_rows_weights"}
    size = np.trace(reference.between_covariance(reference.class_means(rows, labels), True))
    floor = known.floor / max(float(size), 1e-300)
    for key, value in want.items():
        rel, absolute = 4.0 * known.between, 4.0 * known.between
        if key == "nc1":
            rel, absolute = known.quotient[True]
        if key in ("nc1_trace_quotient", "cdnv"):
            rel, absolute = known.within + rel, floor * known.between / EPS
        agree(found[key], value, rel, absolute, key)


def test_means_of_other_data_with_a_class_missing_from_the_samples(
    rng: np.random.Generator,
) -> None:
    """Eight training classes, any seven of them in the test set: centres are those of all eight."""
    K, d = 8, 5
    train, W = rng.standard_normal((8 * K, d)), rng.standard_normal((K, d))
    labels = np.repeat(np.arange(K), 8)
    fitted, given = moments_of(train, labels, K), reference.class_means(train, labels)
    for missing in range(K):
        kept = labels[labels != missing]
        test = rng.standard_normal((len(kept), d))
        moments = ClassMoments(d, K, centres=fitted.means)
        moments.update(test, kept)
        want = reference.classic(test, kept, W, given)
        found = classic(moments, W, centres=fitted)
        assert {key: found[key] for key in want} == pytest.approx(want, rel=1e-9)
        one = gnc1_forms(moments.within_cov(), fitted.means)["gnc1_centred"]
        assert one is not None
        assert one.value == pytest.approx(reference.gnc1_centred(test, kept, given), rel=1e-9)


@given(collapse_data())
def test_gnc2(data: CollapseData) -> None:
    """Every bracket holds the distance that least squares finds, inside the hull too."""
    W = reference.unit(data.W)
    distances = np.array([reference.one_vs_rest(W, k) for k in range(data.K)])
    detail = gnc2_detail(W)
    assert (detail.lower <= distances + 1e-9).all() and (distances - 1e-9 <= detail.upper).all()
    assert (detail.upper - detail.lower).max() < 1e-9
    for bracket in (gnc2(W), detail.bracket):
        assert bracket.lower <= distances.min() + 1e-9
        assert bracket.upper >= distances.min() - 1e-9
        assert bracket.width < 1e-9
    cosines = W @ W.T - 3.0 * np.eye(data.K)
    assert detail.nearest_cosine == pytest.approx(cosines.max(axis=1), abs=1e-14)
