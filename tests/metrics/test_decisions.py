"""Decisions against exact rational arithmetic and plain float64; hostile sizes, ties, pieces."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.metrics.decisions import Decisions, Judge, equivalent_head, stream_decisions
from gnc_cli.metrics.rows import ONE_THREAD, ArrayRows, Pass
from gnc_cli.runtime.deadline import Deadline

FIELDS = (
    "samples",
    "right",
    "ncc_right",
    "loo_right",
    "loo_counted",
    "agree",
    "positive",
    "margin_sum",
)


def decide(
    H: np.ndarray,
    y: np.ndarray,
    *,
    logits: np.ndarray | None = None,
    where: str = "features",
    reading: Pass = ONE_THREAD,
    **judge: Any,
) -> Decisions:
    """`stream_decisions` of arrays by a `Judge` of these fields."""
    answers = None if logits is None else ArrayRows(logits)
    rule = Judge(**judge)
    return stream_decisions(ArrayRows(H), y, rule, answers, name=where, reading=reading)


@dataclass(frozen=True, eq=False)
class Case:
    """Features, labels and what decides on them."""

    H: np.ndarray
    y: np.ndarray
    W: np.ndarray
    bias: np.ndarray | None
    M: np.ndarray
    present: np.ndarray
    counts: np.ndarray
    unit: bool
    device: str | None = None

    def decide(
        self, start: int = 0, stop: int | None = None, compared: bool = False, **reading: Any
    ) -> Decisions:
        """Of a span."""
        return decide(
            self.H,
            self.y,
            weights=self.W,
            bias=self.bias,
            means=self.M,
            present=self.present,
            own_counts=self.counts,
            unit=self.unit,
            device=self.device,
            compared=compared,
            reading=Pass(span=(start, len(self.y) if stop is None else stop), **reading),
        )

    @property
    def seen(self) -> np.ndarray:
        """The samples in the space of the means, float64."""
        X = self.H.astype(np.float64)
        return X / np.linalg.norm(X, axis=1, keepdims=True) if self.unit else X


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Near ties of 1e-7, equal and absent classes, one sample a class, samples left out."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    K, d, N = draw(st.integers(2, 7)), draw(st.integers(1, 5)), draw(st.integers(1, 12))
    unit = draw(st.booleans())
    y = rng.integers(0, K, N)
    centres = rng.standard_normal((K, d))
    near = draw(st.sampled_from([None, 0.0, 1e-7, 1e-12]))
    if near is not None:
        centres[1:] = centres[0] + near * rng.standard_normal((K - 1, d))
    noise = draw(st.sampled_from([0.0, 1e-7, 0.5]))
    H = centres[y] + noise * rng.standard_normal((N, d))
    kind = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    H = H.astype(kind)
    H[~H.any(axis=1)] = 1.0
    W = centres * draw(st.sampled_from([1e-3, 1.0, 50.0]))
    if draw(st.booleans()):
        W = W / np.linalg.norm(W, axis=1, keepdims=True)
    if draw(st.booleans()):
        W = W * rng.uniform(0.5, 2.0, (K, 1))
    bias = rng.choice([0.0, 0.1, -3.0], K) if draw(st.booleans()) else None
    case = Case(H, y, W, bias, np.zeros((K, d)), np.ones(K, dtype=bool), np.zeros(K), unit)
    M, counts = class_means(case.seen, y, K)
    present = counts > 0
    if draw(st.booleans()):
        y = np.where(rng.random(N) < 0.3, -1, y)
    device = draw(st.sampled_from([None, "cpu"]))  # by NumPy, by torch
    return Case(H, y, W, bias, M, present, counts, unit, device)


def class_means(rows: np.ndarray, y: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Means (zero where absent) and counts."""
    counts = np.bincount(y, minlength=K)
    sums = np.zeros((K, rows.shape[1]))
    np.add.at(sums, y, rows)
    return sums / np.maximum(counts, 1)[:, None], counts


def exactly(row: np.ndarray) -> list[Fraction]:
    return [Fraction(float(x)) for x in row]


def largest(
    scores: list[Fraction | None], columns: list[list[Fraction]], least: Fraction = Fraction(0)
) -> tuple[int, bool]:
    """First of the largest; whether float64 can tell (equal columns it can, a close call not).

    `least` is the size of the numbers whose difference the scores are.
    """
    known = [s for s in scores if s is not None]
    best = max(known)
    first = scores.index(best)
    size = max(least, *(abs(s) for s in known))
    clear = all(
        s is None or best - s > Fraction(1e-13) * size or (s == best and column == columns[first])
        for s, column in zip(scores, columns, strict=True)
    )
    return first, clear


def squared(x: list[Fraction], m: list[Fraction]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, m, strict=True)), Fraction(0))


def linear(x: list[Fraction], w: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(x, w, strict=True)), Fraction(0))


@given(case=cases())
def test_every_decision_is_that_of_exact_arithmetic(case: Case) -> None:
    W, M = [exactly(w) for w in case.W], [exactly(m) for m in case.M]
    b = exactly(np.zeros(len(W)) if case.bias is None else case.bias)
    norms = np.linalg.norm(case.W, axis=1)
    for i, y in enumerate(case.y):
        found = case.decide(i, i + 1)
        assert found.samples.sum() == (y >= 0)
        if y < 0:
            continue
        x, h = exactly(case.H[i]), exactly(case.seen[i])
        called, clear = largest([linear(x, w) + o for w, o in zip(W, b, strict=True)], W)
        assert not clear or found.right[y] == (called == y)

        distances = [squared(h, m) if p else None for m, p in zip(M, case.present, strict=True)]
        # Rounding of <h, m> - |m|^2 / 2, which decides, is relative to |h|^2 + |m|^2.
        size = linear(h, h) + max(linear(m, m) for m in M)
        near, near_clear = largest([None if s is None else size - s for s in distances], M)
        assert not near_clear or found.ncc_right[y] == (near == y)
        if clear and near_clear:
            assert found.agree == (called == near)

        n = int(case.counts[y])
        assert found.loo_counted[y] == (n > 1)
        if n > 1:
            moved = list(distances)
            moved[y] = distances[y] * Fraction(n, n - 1) ** 2
            left, left_clear = largest([None if s is None else 16 * size - s for s in moved], M)
            # A unit row that is its class's mean may miss it by a rounding of its norm.
            left_clear &= not (case.unit and moved.count(moved[left]) > 1)
            assert not left_clear or found.loo_right[y] == (left == y)

        X = case.H[i].astype(np.float64)
        cosines = (case.W / norms[:, None]) @ (X / np.linalg.norm(X))
        margin = cosines[y] - np.delete(cosines, y).max()
        assert found.margin_min[y] == pytest.approx(margin, abs=3e-15)
        assert found.margin_sum[y] == pytest.approx(margin, abs=1.3e-10)
        twin = any(np.array_equal(case.W[y], w) for w in np.delete(case.W, y, axis=0))
        if abs(margin) > 1e-14 or twin:
            assert found.positive[y] == (margin > 1e-14)


@given(case=cases(), data=st.data())
def test_pieces_add_up_to_the_whole_exactly(case: Case, data: st.DataObject) -> None:
    N = len(case.y)
    cuts = sorted(data.draw(st.lists(st.integers(0, N), max_size=3)))
    whole = case.decide(block=data.draw(st.integers(1, 20)), workers=2)
    parts = [case.decide(a, b) for a, b in pairwise([0, *cuts, N])]
    together = parts[0]
    for part in parts[1:]:
        together = together.joined(part)
    for name in FIELDS:
        assert np.array_equal(getattr(whole, name), getattr(together, name)), name
    np.testing.assert_allclose(whole.margin_min, together.margin_min, rtol=0, atol=1e-15)


def crowd(rng: np.random.Generator, K: int = 2500, d: int = 8, N: int = 600) -> Case:
    """Many classes in few dimensions: close calls everywhere, several tiles of columns."""
    W = rng.standard_normal((K, d)) * rng.uniform(0.9, 1.1, (K, 1))
    W[[9, K // 2]] = W[3]
    y = rng.integers(0, K, N)
    y[:20] = 3
    H = (W[y] + 0.05 * rng.standard_normal((N, d))).astype(np.float32)
    case = Case(H, y, W, 0.1 * rng.standard_normal(K), W, np.ones(K, bool), np.zeros(K), True)
    M, counts = class_means(case.seen, y, K)
    return Case(H, y, W, case.bias, M, counts > 0, counts, True)


@pytest.mark.parametrize("by_torch", [False, True])
def test_many_classes_as_numpy_decides_in_float64(
    by_torch: bool, device: str, rng: np.random.Generator
) -> None:
    case = crowd(rng)
    found = replace(case, device=device if by_torch else None).decide()
    X, h, every = case.H.astype(np.float64), case.seen, np.arange(len(case.y))
    assert case.bias is not None
    called = (X @ case.W.T + case.bias).argmax(axis=1)
    distances = ((h[:, None] - case.M) ** 2).sum(axis=2)
    distances[:, ~case.present] = np.inf
    near = distances.argmin(axis=1)
    K = len(case.W)
    assert np.array_equal(found.right, np.bincount(case.y[called == case.y], minlength=K))
    assert np.array_equal(found.ncc_right, np.bincount(case.y[near == case.y], minlength=K))
    assert found.agree == (called == near).sum()
    cosines = h @ (case.W / np.linalg.norm(case.W, axis=1, keepdims=True)).T
    own = cosines[every, case.y].copy()
    cosines[every, case.y] = -np.inf
    margins = own - cosines.max(axis=1)
    lowest = np.full(K, np.inf)
    np.minimum.at(lowest, case.y, margins)
    np.testing.assert_allclose(found.margin_min, lowest, rtol=0, atol=2e-15)
    sums = np.bincount(case.y, margins, K)
    np.testing.assert_allclose(found.margin_sum, sums, rtol=0, atol=1.2e-10 * 30)
    assert found.positive[3] == 0 and found.margin_min[3] == 0.0  # its twin ties with it


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("kind, size", [(np.float32, 2.0**60), (np.float64, 2.0**-60)])
def test_size_changes_no_decision(
    unit: bool, kind: type, size: float, rng: np.random.Generator
) -> None:
    case = crowd(rng, K=40, d=3)
    assert case.bias is not None
    M, counts = class_means(case.seen if unit else case.H.astype(float), case.y, 40)
    small = Case(case.H, case.y, case.W, case.bias, M, counts > 0, counts, unit).decide()
    H = (case.H.astype(np.float64) * size).astype(kind)
    means = M if unit else M * size
    big = Case(H, case.y, case.W, case.bias * size, means, counts > 0, counts, unit).decide()
    for name in FIELDS:
        assert np.array_equal(getattr(small, name), getattr(big, name)), name


def test_ties_go_to_the_first_class() -> None:
    H, y = np.eye(3), np.array([0, 1, 2])
    found = decide(H, y, weights=np.zeros((3, 3)), means=np.ones((3, 3)))
    assert np.array_equal(found.right, [1, 0, 0]) and np.array_equal(found.ncc_right, [1, 0, 0])
    assert found.agree == 3 and np.array_equal(found.positive, [0, 0, 0])
    nobody = decide(H, np.full(3, -1), weights=np.eye(3))
    assert nobody.ncc_right is nobody.loo_right is nobody.loo_counted is nobody.agree is None
    assert nobody.samples.sum() == nobody.right.sum() == 0
    assert np.array_equal(nobody.margin_min, np.full(3, np.inf))


def test_absent_classes_are_never_near_but_their_weights_compete() -> None:
    H, y = np.array([[1.0, 0.1], [0.1, 1.0], [1.0, 0.0]]), np.array([0, 1, 2])
    W = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    present = np.array([True, True, False])
    found = decide(H, y, weights=W, means=W, present=present, unit=False)
    assert np.array_equal(found.ncc_right, [1, 1, 0])
    assert np.array_equal(found.right, [0, 1, 0])
    assert found.margin_min is not None and found.margin_min[0] < 0.0
    with pytest.raises(DataError, match="no class has a mean"):
        decide(H, y, means=W, present=np.zeros(3, dtype=bool))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_logits_decide_in_place_of_weights(kind: type, rng: np.random.Generator) -> None:
    logits = rng.integers(-3, 4, (50, 6)).astype(kind)
    logits[:5] = 0.0
    logits[5, 1:] = -np.inf
    y = rng.integers(-1, 6, 50)
    right = np.bincount(y[(logits.argmax(axis=1) == y)], minlength=6)
    H = rng.standard_normal((50, 4))
    alone = decide(H, y, logits=logits, reading=Pass(block=7))
    assert np.array_equal(alone.right, right) and alone.samples.sum() == (y >= 0).sum()
    assert alone.ncc_right is alone.agree is alone.positive is alone.margin_sum is None
    M = rng.standard_normal((6, 4))
    beside = decide(H, y, weights=M, logits=logits, means=M)
    near = (H / np.linalg.norm(H, axis=1, keepdims=True) @ M.T - (M**2).sum(axis=1) / 2).argmax(1)
    assert np.array_equal(beside.right, right) and beside.positive is not None
    assert beside.agree == ((near == logits.argmax(axis=1)) & (y >= 0)).sum()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_rows_are_named(bad: float) -> None:
    H, y, name = np.ones((9, 2)), np.zeros(9, dtype=int), "'f.h5': dataset 'x'"
    H[6:, 1] = bad
    with pytest.raises(DataError, match=rf"{name} .*3 of rows 4 to 8, first row 6"):
        decide(H, y, weights=np.eye(2), where=name, reading=Pass(block=5, span=(4, 9)))
    y[6:] = -1
    assert decide(H, y, weights=np.eye(2)).samples[0] == 6
    logits = np.zeros((6, 3), dtype=np.float16)
    logits[4, 1] = np.nan  # of the largest of a row alone, which NaN is
    with pytest.raises(DataError, match="logits holds NaN.*first row 4; "):
        decide(H[:6], y[:6] * 0, logits=logits)


def test_zero_rows_have_no_direction_but_may_be_measured_raw() -> None:
    H, y = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([0, 1])
    with pytest.raises(DataError, match="first row 1"):
        decide(H, y, means=np.eye(2))
    W, bias = np.eye(2), np.array([0.0, 0.5])
    found = decide(H, y, weights=W, bias=bias, means=0.5 * W, unit=False)
    assert np.array_equal(found.right, [1, 1]) and np.array_equal(found.ncc_right, [1, 0])
    assert np.array_equal(found.margin_min, [1.0, 0.0])


@pytest.mark.parametrize(
    "labels, more, message",
    [
        (np.full(4, 2), {"weights": np.eye(2)}, "label 2 is out of range"),
        (np.zeros(4, dtype=int), {"weights": np.full((2, 2), np.nan)}, "NaN"),
        (np.zeros(4, dtype=int), {"means": np.full((2, 2), np.inf)}, "class means"),
    ],
)
def test_what_does_not_fit_is_refused(labels: np.ndarray, more: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        decide(np.ones((4, 2)), labels, **more)


def test_progress_tells_rows_and_the_deadline_stops(rng: np.random.Generator) -> None:
    case, told = crowd(rng, K=12, N=10), []
    case.decide(block=4, progress=lambda *what: told.append(what))
    assert told == [("decisions", n, 10, n / 10) for n in (4, 8, 10)]
    with pytest.raises(TimeoutError, match="after 4 of 10 rows"):
        case.decide(block=4, deadline=Deadline(0.0))


@pytest.mark.parametrize("by_torch", [False, True])
def test_close_calls_need_the_second_look(
    by_torch: bool, device: str, rng: np.random.Generator
) -> None:
    """Classes in pairs 1e-7 apart: float32 alone decides wrongly."""
    W = np.repeat(rng.standard_normal((600, 4)), 2, axis=0)
    W[1::2] += 1e-7 * rng.standard_normal((600, 4))
    y = rng.permutation(1200)
    H = W[y] + 0.1 * rng.standard_normal((1200, 4))
    called = (H @ W.T).argmax(axis=1)
    assert ((H.astype(np.float32) @ W.T.astype(np.float32)).argmax(axis=1) != called).any()
    found = decide(H, y, weights=W, device=device if by_torch else None)
    assert np.array_equal(found.right, np.bincount(y[called == y], minlength=1200))


def form_scores(
    form: str, x: np.ndarray, W: np.ndarray, bias: np.ndarray | None
) -> list[Fraction | None]:
    """Exact scores of a raw sample, larger is nearer: logits, signed squared cosines times |x|^2,
    negative squared distances."""
    sample, scores = exactly(x), []
    for k, row in enumerate(W):
        w = exactly(row)
        product = linear(sample, w)
        if form == "linear":
            scores.append(product + Fraction(0.0 if bias is None else float(bias[k])))
        elif form == "cosine":
            scores.append(product * abs(product) / (linear(w, w) or 1))
        else:
            scores.append(-squared(sample, w))
    return scores  # type: ignore[return-value]


@given(case=cases())
def test_three_forms_of_a_head_in_exact_arithmetic(case: Case) -> None:
    found = case.decide(compared=True)
    assert found.forms is not None and found.forms[0] == found.right.sum()  # type: ignore[union-attr]
    for form, right in zip(("linear", "cosine", "euclidean"), found.forms, strict=True):
        sure = unclear = 0
        for x, label in zip(case.H, case.y, strict=True):
            if label >= 0:
                columns = [exactly(row) for row in case.W]
                # Distances are found from products and squares, which may be much larger.
                terms = max(linear(row, row) for row in (exactly(x), *columns))
                least = terms if form == "euclidean" else Fraction(0)
                first, clear = largest(form_scores(form, x, case.W, case.bias), columns, least)
                sure += clear and first == label
                unclear += not clear
        assert sure <= right <= sure + unclear


@given(seed=st.integers(0, 999), power=st.integers(-9, 9))
def test_laws_of_the_forms(seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    H, y = rng.standard_normal((40, 5)), rng.integers(0, 4, 40)
    W = rng.standard_normal((4, 5)) * rng.uniform(0.2, 3.0, (4, 1))
    bias = rng.standard_normal(4)
    forms = decide(H, y, weights=W, bias=bias, compared=True).forms
    scaled = decide(H, y, weights=2.0**power * W, compared=True).forms
    assert forms is not None and scaled is not None and forms[1] == scaled[1]
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    alike = decide(H, y, weights=unit, compared=True).forms
    assert alike is not None and (alike == forms[1]).all()
    for place, form in enumerate(("linear", "cosine", "euclidean")):
        rows, offsets = equivalent_head(form, W, bias)
        alone = decide(H, y, weights=rows, bias=offsets, raw_margins=form != "cosine")
        assert alone.right is not None and alone.right.sum() == forms[place]
        # A sample is right if and only if its margin is positive, but for ties.
        assert alone.positive is not None and (alone.positive == alone.right).all()
    halves = [
        decide(H, y, weights=W, bias=bias, compared=True, reading=Pass(span=span))
        for span in ((0, 13), (13, 40))
    ]
    assert np.array_equal(halves[0].joined(halves[1]).forms, forms)
