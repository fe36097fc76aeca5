"""`--head linear|cosine|euclidean`: what it decides, against plain NumPy; what it excludes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import measure, measure_series
from gnc_cli.errors import DataError, UsageError
from tests.collapse.conftest import put

K, D, N = 6, 8, 300


@pytest.fixture
def head(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Features near the directions of rows of very different lengths, and a bias."""
    W = rng.standard_normal((K, D))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    y = rng.integers(0, K, N)
    H = 3.0 * W[y] + 0.7 * rng.standard_normal((N, D))
    scale = np.linspace(0.2, 3.0, K)[:, None]
    return {"features": H, "labels": y, "weights": scale * W, "bias": 3.0 * rng.standard_normal(K)}


def scores(form: str, head: dict[str, np.ndarray]) -> np.ndarray:
    """Scores (N, K) of a form, the largest names the class."""
    H, W, b = head["features"], head["weights"], head["bias"]
    if form == "linear":
        return H @ W.T + b
    if form == "cosine":
        return (H / np.linalg.norm(H, axis=1, keepdims=True)) @ (
            W / np.linalg.norm(W, axis=1, keepdims=True)
        ).T
    return -0.5 * np.square(H[:, None] - W).sum(axis=2)


@pytest.mark.parametrize("form", ["linear", "cosine", "euclidean"])
def test_the_form_decides(form: str, head: dict[str, np.ndarray]) -> None:
    table, y = scores(form, head), head["labels"]
    named = table.argmax(axis=1)
    mine = table[np.arange(N), y]
    table[np.arange(N), y] = -np.inf
    margins = mine - table.max(axis=1)
    found = measure(**head, head=form)
    assert found.accuracy == (named == y).mean()
    means = np.array([head["features"][y == k].mean(axis=0) for k in range(K)])
    near = np.linalg.norm(head["features"][:, None] - means, axis=2).argmin(axis=1)
    assert found.nc4 == (near == named).mean()
    assert found.sample_margins is not None and found.head_accuracies is None
    assert found.sample_margins.positive_share == (margins > 0.0).mean()
    assert found.sample_margins.min == pytest.approx(margins.min(), abs=1e-12)
    assert found.sample_margins.mean == pytest.approx(margins.mean(), abs=1e-9)
    spaces = found.policy.spaces
    assert spaces["accuracy"] == spaces["sample_margins"] == f"{form} head of raw rows"
    ignored = [note for note in found.notes if note.startswith("bias: ignored")]
    assert len(ignored) == (form != "linear")
    plain = measure(**head)
    assert plain.head_accuracies is not None
    assert getattr(plain.head_accuracies, form) == found.accuracy
    # What is no decision stays as it was.
    for key in ("gnc1", "gnc2", "gnc3", "nc3", "nc2_equinorm_weights", "ncc_accuracy"):
        assert getattr(found, key) == getattr(plain, key)


def test_without_the_option_all_is_as_before_and_a_better_form_is_named(
    head: dict[str, np.ndarray], gnc: Any, tmp_path: Path
) -> None:
    found = measure(**head)
    linear = (scores("linear", head).argmax(axis=1) == head["labels"]).mean()
    cosine = (scores("cosine", head).argmax(axis=1) == head["labels"]).mean()
    assert found.accuracy == linear < cosine - 0.02
    assert found.policy.spaces["sample_margins"] == "unit rows"
    (line,) = [text for text in found.warnings if "is that of a linear head" in text]
    assert f"accuracy, {linear:.2%}, is" in line and f"cosine head has {cosine:.2%}" in line
    assert "head='cosine'" in line
    file = put(tmp_path / "a.npz", head)
    assert "--head cosine" in gnc("measure", file).stderr
    chosen = gnc("measure", file, "--head", "cosine")
    assert "is that of a linear head" not in chosen.stderr and ", cosine head" in chosen.stdout
    unit = head["weights"] / np.linalg.norm(head["weights"], axis=1, keepdims=True)
    alike = measure(**{**head, "weights": unit, "bias": np.zeros(K)})
    assert alike.head_accuracies is not None and len({*vars(alike.head_accuracies).values()}) == 1
    assert not any("is that of a linear head" in text for text in alike.warnings)


@pytest.mark.parametrize("form", ["linear", "cosine", "euclidean"])
def test_reach_is_that_of_the_form(form: str, head: dict[str, np.ndarray]) -> None:
    W, bias = head["weights"], head["bias"]
    squares = np.square(W).sum(axis=1)
    rows = {"cosine": W / np.linalg.norm(W, axis=1, keepdims=True)}.get(form, W)
    offsets = {"linear": bias, "euclidean": -0.5 * squares}.get(form)
    how: dict[str, Any] = {"reach": True, "feature_norm": 2.0}
    ours = measure(weights=W, bias=bias, head=form, **how).reach
    same = measure(weights=rows, bias=offsets, **how).reach
    assert ours is not None and same is not None
    assert (ours.can_win, ours.biased) == (same.can_win, form != "cosine")
    assert ours.unreachable_rows == same.unreachable_rows or form == "euclidean"
    for a, b in zip(ours.hardest_rows, same.hardest_rows, strict=True):
        assert a.labels == b.labels and float(a.margin) == pytest.approx(float(b.margin), abs=1e-8)


def test_what_the_form_excludes(head: dict[str, np.ndarray]) -> None:
    logits = np.zeros((N, K))
    with pytest.raises(UsageError, match="excludes logits"):
        measure(**head, logits=logits, head="cosine")
    with pytest.raises(DataError, match="requires weights"):
        measure(features=head["features"], labels=head["labels"], head="linear")
    with pytest.raises(UsageError, match="requires samples"):
        measure(weights=head["weights"], head="linear")


def test_logits_of_a_file_give_way(head: dict[str, np.ndarray], tmp_path: Path) -> None:
    file = put(tmp_path / "a.h5", {**head, "logits": np.zeros((N, K))})
    assert measure(file).policy.spaces["accuracy"] == "logits"
    found = measure(file, head="linear")
    assert found.accuracy == measure(**head).accuracy
    assert [note for note in found.notes if "'logits': ignored" in note]


def test_prefixes_and_training_means_take_the_form(
    head: dict[str, np.ndarray], tmp_path: Path
) -> None:
    (row,) = measure_series(**head, head="euclidean", prefix_dims=[4]).rows
    cut = {name: a[:, :4] if a.ndim == 2 else a for name, a in head.items()}
    assert row.accuracy == measure(**cut, head="euclidean").accuracy
    train = put(tmp_path / "train.npz", {k: head[k] for k in ("features", "labels")})
    found = measure(**head, head="euclidean", means_from=train)
    assert found.accuracy == measure(**head, head="euclidean").accuracy
