"""Metrics of batches against plain loops over all samples, whatever the batches are made of."""

import json
import pickle
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import GNCMetrics
from gnc_cli.collapse import assemble
from gnc_cli.collapse.api import measure
from gnc_cli.collapse.result import VariantMetrics
from gnc_cli.errors import DataError, UsageError
from gnc_cli.metrics.gnc2 import gnc2
from tests.collapse.conftest import agrees, by_hand
from tests.metrics import reference
from tests.runtime.together import needs_gloo, together


@dataclass
class Data:
    """Samples of a linear classifier."""

    features: np.ndarray
    labels: np.ndarray
    W: np.ndarray
    bias: np.ndarray

    @property
    def logits(self) -> np.ndarray:
        return self.features @ self.W.T + self.bias

    def batches(self, cuts: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        parts = [np.array_split(x, cuts) for x in (self.features, self.labels, self.logits)]
        return list(zip(*parts, strict=True))


def _data(seed: int = 7, d: int = 5, K: int = 6, N: int = 90, width: float = 0.3) -> Data:
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=N)
    W = rng.standard_normal((K, d))
    features = 2.0 * (W[labels] + width * rng.standard_normal((N, d)))
    return Data(features, labels, W, 0.1 * rng.standard_normal(K))


def _metrics(data: Data, cuts: int = 4, judge: bool = True, **options: Any) -> GNCMetrics:
    K, d = data.W.shape
    metrics = GNCMetrics(d, K, **options)
    for features, labels, logits in data.batches(cuts):
        metrics.update(features, labels, logits)
    if judge:
        for features, labels, _ in data.batches(cuts + 1):
            metrics.judge(features, labels, data.W, data.bias)
    return metrics


def _by_hand(data: Data, unit: bool = True) -> dict[str, float]:
    return by_hand(data.features, data.labels, data.W, data.bias, unit)


def _of_both(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what `measure` alone gives: the spectrum, and the forms of the head."""
    alone = re.compile(r"(features|head_accuracies)\b")
    return {
        name: value
        for name, value in values.items()
        if not alone.match(name) and "is that of a linear head" not in str(value)
    }


def _same_numbers(found: dict[str, Any], expected: dict[str, Any], digits: float = 1e-12) -> None:
    found, expected = _of_both(found), _of_both(expected)
    assert found.keys() == expected.keys()
    for name in found.keys() - {"seconds", "file"}:
        same: Any = expected[name]
        if isinstance(same, float):
            same = pytest.approx(same, rel=digits, abs=digits)
        assert found[name] == same, name


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 6),
    st.integers(2, 7),
    st.integers(2, 60),
    st.integers(1, 6),
    st.sampled_from([0.6, 1e-2, 1e-7]),
)
def test_batches_agree_with_plain_loops(
    seed: int, d: int, K: int, N: int, cuts: int, width: float
) -> None:
    data = _data(seed, d, K, N, width)
    result = _metrics(data, cuts).compute(data.W)
    agrees(result, _by_hand(data), 1e-9 if width > 1e-5 else 1e-6)
    bracket = gnc2(reference.unit(data.W))
    assert result.gnc2.lower <= bracket.upper + 1e-9 and bracket.lower <= result.gnc2.upper + 1e-9
    assert result.gnc2.width < 1e-8
    counts = np.bincount(data.labels, minlength=K)
    assert result.N == N and result.classes.present == (counts > 0).sum()
    assert result.classes.single_sample == (counts == 1).sum()


@pytest.mark.parametrize("kind", ["list", "float32", "big-endian", "tensor", "graph", "int8"])
def test_whatever_the_batches_are_made_of(kind: str) -> None:
    data = _data()
    data.features = data.features.astype(np.float32).astype(np.float64)
    data.W = data.W.astype(np.float32).astype(np.float64)
    turn: dict[str, Any] = {
        "list": lambda x: x.tolist(),
        "float32": lambda x: x.astype(np.float32) if x.dtype.kind == "f" else x.astype(np.uint16),
        "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
        "tensor": torch.as_tensor,
        "graph": lambda x: torch.tensor(x, requires_grad=x.dtype.kind == "f") * 1,
        "int8": lambda x: x if x.dtype.kind == "f" else x.astype(np.int8),
    }
    as_given = turn[kind]
    metrics = GNCMetrics(5, 6)
    for features, labels, logits in data.batches(3):
        metrics.update(as_given(features), as_given(labels), as_given(logits))
    for features, labels, _ in data.batches(2):
        metrics.judge(as_given(features), as_given(labels), as_given(data.W), as_given(data.bias))
    agrees(metrics.compute(as_given(data.W)), _by_hand(data))


def test_classic_metrics_are_of_raw_rows() -> None:
    data = _data(width=0.8)
    found = _metrics(data).compute(data.W)
    means = np.stack([data.features[data.labels == k].mean(axis=0) for k in range(6)])
    nearest = [np.linalg.norm(means - h, axis=1).argmin() for h in data.features]
    assert found.nc4 == np.mean(nearest == data.logits.argmax(axis=1))
    squares = ((data.features - means[data.labels]) ** 2).sum() / len(data.labels)
    spread = ((means - means.mean(axis=0)) ** 2).sum() / 6
    assert found.nc1_trace_quotient == pytest.approx(squares / spread)
    assert found.variants == VariantMetrics()
    assert _metrics(data, judge=False).compute(data.W).nc4 is None


def test_merged_metrics_are_those_of_one() -> None:
    data = _data()
    expected = _by_hand(data)
    parts = []
    for features, labels, logits in data.batches(3):
        part = GNCMetrics(5, 6)
        part.update(features, labels, logits)
        parts.append(pickle.loads(pickle.dumps(part)))
    first, *others = parts
    first.merge_state(others)
    first.judge(data.features, data.labels, data.W, data.bias)
    agrees(first.compute(data.W), expected)
    assert sum(part.compute(data.W).N for part in others) + 30 == len(data.labels)


_EACH_PROCESS = """
        import json
        import pytest
        from gnc_cli.errors import UsageError
        from gnc_cli.collapse.gnc_metrics import GNCMetrics
        from tests.collapse.test_gnc_metrics import _by_hand, _data, agrees
        data = _data()
        mine = slice(0, 33) if rank == 0 else slice(33, 90)
        metrics = GNCMetrics(5, 6)

        def update(part):
            metrics.update(data.features[part], data.labels[part], data.logits[part])

        def judge(part, **more):
            metrics.judge(data.features[part], data.labels[part], data.W, data.bias, **more)

        def refused(call, words):
            with pytest.raises(UsageError, match=words):
                call()
"""


@needs_gloo
def test_two_processes_are_as_good_as_one() -> None:
    told = together(
        _EACH_PROCESS
        + """
        update(mine)
        metrics.sync()
        metrics.sync()  # nothing counts twice
        assert metrics.compute(data.W).N == 90
        judge(mine)
        refused(lambda: metrics.compute(data.W), "sync.. again")
        metrics.sync()
        print(json.dumps(metrics.compute(data.W).flat(prefix="")))
        update(slice(0, 1))
        judge(mine)
        metrics.sync()
        refused(lambda: metrics.compute(data.W), "means of other samples")  # of one process
        if rank == 0:
            judge(mine)
        metrics.sync()
        refused(lambda: metrics.compute(data.W), "seen 33 samples, not the 92")
        metrics.sync()
        metrics.reset()
        update(mine)
        update(slice(0, 1))
        metrics.sync()
        for part in (mine, slice(0, 1)):
            judge(part)
        metrics.sync()
        assert metrics.compute().N == 92 and metrics.compute().ncc_accuracy is not None
        """
    )
    first, second = (json.loads(line) for line in told)
    _same_numbers(first, second, digits=0.0)
    data = _data()
    _same_numbers(first, _metrics(data).compute(data.W).flat(prefix=""))


@pytest.mark.parametrize("normalize", ["auto", "off"])
def test_the_numbers_are_those_of_measure(normalize: str, tmp_path: Path) -> None:
    data = _data()
    with h5py.File(tmp_path / "all.h5", "w") as file:
        for name in ("features", "labels", "bias"):
            file[name] = getattr(data, name)
        file["weights"] = data.W
    whole = measure(tmp_path / "all.h5", variants="classic", normalize=normalize).flat(prefix="")
    metrics = _metrics(data, variants="classic", normalize=normalize == "auto")
    found = metrics.compute(data.W, detail=True).flat(prefix="")
    _same_numbers(found, whole, digits=1e-10)


def test_one_pass_leaves_ncc_open() -> None:
    data = _data()
    metrics = GNCMetrics(5, 6)
    metrics.update(data.features, data.labels)
    result = metrics.compute(data.W)
    assert result.policy.spaces["accuracy"] == "none"
    assert result.accuracy is result.ncc_accuracy is result.ncc_leave_one_out is None
    assert result.ncc_agreement is result.sample_margins is None
    result = _metrics(data, judge=False).compute()  # and the means stand in for weights
    assert result.accuracy == _by_hand(data)["accuracy"] and result.ncc_accuracy is None
    means = reference.class_means(reference.unit(data.features), data.labels)
    bracket = gnc2(reference.unit(np.array(list(means.values()))))
    assert result.gnc2.lower == pytest.approx(bracket.lower, abs=1e-9)
    assert result.gnc3 is None and result.policy.weights == "class means stand in"


def test_new_batches_and_reset_forget_the_second_pass() -> None:
    data = _data()
    metrics = _metrics(data)
    metrics.update(data.features, data.labels)
    assert metrics.compute(data.W).ncc_accuracy is None
    metrics.reset()
    with pytest.raises(DataError, match="nothing to compute"):
        metrics.compute(data.W)
    for features, labels, logits in data.batches(2):
        metrics.update(features, labels, logits)
    metrics.judge(data.features, data.labels, data.W, data.bias)
    agrees(metrics.compute(data.W), _by_hand(data))


def test_a_second_pass_sees_each_sample_once() -> None:
    data = _data()
    first, second = data.batches(2)
    metrics = _metrics(data, judge=False)
    metrics.judge(first[0], first[1], data.W, data.bias)
    with pytest.raises(UsageError, match="seen 45 samples, not the 90 of update"):
        metrics.compute(data.W)
    metrics.judge(second[0], second[1], data.W, data.bias)
    agrees(metrics.compute(data.W), _by_hand(data))
    metrics.judge(second[0], second[1], data.W, data.bias)
    with pytest.raises(UsageError, match="seen 135 samples, not the 90"):
        metrics.compute(data.W)
    metrics = _metrics(data, judge=False)
    metrics.judge(data.features, (data.labels + 1) % 6 * (data.labels > 0))  # as many of others
    with pytest.raises(UsageError, match="seen 90 samples, not the 90"):
        metrics.compute(data.W)


def test_left_out_samples_are_not_looked_at() -> None:
    data = _data()
    expected = _metrics(data).compute(data.W).flat(prefix="")
    data = Data(
        np.vstack([data.features, np.full((2, 5), np.nan), np.zeros((1, 5))]),
        np.r_[data.labels, -1, -1, -1],
        data.W,
        data.bias,
    )
    metrics = GNCMetrics(5, 6)
    metrics.update(data.features, data.labels, np.where(data.labels[:, None] < 0, 0, data.logits))
    metrics.judge(data.features, data.labels, data.W, data.bias)
    found = metrics.compute(data.W).flat(prefix="")
    _same_numbers(found, expected)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        ([[1.0, 2.0]], [3], "label 3 is out of range; expected 0 to 2, or -1"),
        ([[1.0, 2.0]], [-2], "label -2 is out of range"),
        ([[1.0, 2.0]], [0.0], "dtype float64; expected .*, integers"),
        ([[1.0, float("nan")]], [0], "row 0 is not finite"),
        ([[0.0, 0.0]], [0], "row 0 is zero"),
        ([[1.0, 2.0, 3.0]], [0], r"shape \(1, 3\), labels \(1,\); expected \(n, 2\), \(n,\)$"),
        ([[1.0, 2.0]], [[0, 0, 1]], r"labels \(1, 3\)"),
        ([[1.0, 2.0]], [[0, 1, 0]], r"give labels.argmax\(1\) of one-hot labels"),
    ],
)
def test_batches_that_are_refused(features: Any, labels: Any, message: str) -> None:
    metrics = GNCMetrics(2, 3)
    for turn in (np.asarray, torch.tensor):
        if turn is np.asarray or np.asarray(labels).dtype.kind == "i":
            with pytest.raises(DataError, match=message):
                metrics.update(turn(features), turn(labels))
    with pytest.raises(DataError, match="nothing to compute"):
        metrics.compute()


@pytest.mark.parametrize("normalize", [True, False])
def test_a_batch_that_is_refused_leaves_no_trace(normalize: bool) -> None:
    rows = np.random.default_rng(0).standard_normal((5001, 300))
    rows[-1, 7] = np.nan
    labels = np.arange(5001) % 3
    metrics = GNCMetrics(300, 3, normalize=normalize, variants="classic")
    with pytest.raises(DataError, match="5000"):
        metrics.update(rows, labels, np.zeros((5001, 3)))
    with pytest.raises(DataError, match="nothing to compute"):
        metrics.compute()
    labels[-1] = -1  # then nobody looks at it
    metrics.update(rows, labels)
    assert metrics.compute().N == 5000


def test_what_else_is_refused() -> None:
    metrics = GNCMetrics(2, 3)
    one = ([[1.0, 2.0]], [0])
    with pytest.raises(DataError, match=r"logits have shape \(1, 2\); expected \(1, 3\)"):
        metrics.update(*one, [[0.0, 1.0]])
    with pytest.raises(DataError, match="as the largest of a row: 1 of rows 0 to 0"):
        metrics.update(*one, torch.tensor([[0.0, float("nan"), 1.0]]))
    with pytest.raises(DataError, match="judge.* needs class means"):
        metrics.judge(*one)
    metrics.update(*one)
    with pytest.raises(DataError, match=r"weights have shape \(2, 3\).*; give the transpose"):
        metrics.compute(np.ones((2, 3)))
    with pytest.raises(DataError, match="weights has 1 value.*first is inf at row 2, column 0"):
        metrics.compute([[1.0, 0.0], [0.0, 1.0], [np.inf, 0.0]])
    with pytest.raises(DataError, match="1 class has samples"):
        metrics.compute()
    with pytest.raises(UsageError, match=r"cannot join \(2, 3"):
        metrics.merge(GNCMetrics(2, 4))
    for add in (metrics.merge, lambda other: metrics.merge_state([other])):
        with pytest.raises(ValueError, match="cannot join itself"):
            add(metrics)
    with pytest.raises(UsageError, match="at least 2"):
        GNCMetrics(1, 3)
    with pytest.raises(UsageError, match="variants 'most' is not one of"):
        GNCMetrics(2, 3, variants="most")


def test_arrays_need_no_torch() -> None:
    script = (
        "import sys, numpy as np\n"
        "from gnc_cli import GNCMetrics\n"
        "m = GNCMetrics(4, 3)\n"
        "rng = np.random.default_rng(0)\n"
        "rows, labels = rng.standard_normal((9, 4)), np.arange(9) % 3\n"
        "m.update(rows, labels, rows[:, :3])\n"
        "m.sync()\n"
        "m.judge(rows, labels)\n"
        "m.compute(np.eye(4)[:3])\n"
        "assert not {'torch', 'matplotlib', 'h5py'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)


def test_a_device_decides_alike(device: str, tmp_path: Path) -> None:
    data = _data(K=12, N=200, width=0.6)
    results = []
    for weights in (data.W, torch.from_numpy(data.W).to(device)):
        metrics = GNCMetrics(5, 12)
        metrics.update(data.features, data.labels, workers=2)
        metrics.judge(data.features, data.labels, weights, data.bias, workers=2)
        results.append(metrics.compute(weights))
    file = tmp_path / "data.npz"
    np.savez(file, features=data.features, labels=data.labels, weights=data.W, bias=data.bias)
    results += [measure(file, device=where) for where in ("cpu", device)]
    names = ("accuracy", "ncc_accuracy", "ncc_leave_one_out", "ncc_agreement")
    for result in results:
        assert [getattr(result, name) for name in names] == [
            getattr(results[0], name) for name in names
        ]
        assert result.sample_margins == results[0].sample_margins
        assert result.gnc1 == pytest.approx(results[0].gnc1, rel=1e-12)


def test_a_result_stays_as_it_was_when_batches_follow() -> None:
    data = _data()
    metrics = _metrics(data)
    result = metrics.compute(data.W)
    before = [*result.per_class]
    metrics.update(data.features + 1.0, data.labels)
    assert [*result.per_class] == before
    assert [row.count for row in metrics.compute(data.W).per_class] == [
        None if row.count is None else 2 * row.count for row in before
    ]


def test_each_field_of_a_result_is_of_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields of two groups would be those of the later, in silence."""
    data, fields = _data(), []
    for name in [name for name in vars(assemble) if name.endswith("_group")]:
        group = getattr(assemble, name)

        def noted(*values: Any, group: Any = group) -> Any:
            found = group(*values)
            fields.extend(found.fields)
            return found

        monkeypatch.setattr(assemble, name, noted)
    rows = {"features": data.features, "labels": data.labels, "weights": data.W}
    result = measure(**rows, duplicates=0.5, variants="classic")
    assert len({*fields}) == len(fields) and {*fields} <= {*vars(result)}
    assert {"gnc1", "gnc2", "gnc3", "nc4", "accuracy", "duplicates", "coherence"} <= {*fields}
