"""Features out of distribution beside a set: NECO's orthogonality deviation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnc_cli import measure
from gnc_cli.errors import DataError, UsageError
from tests.collapse.conftest import D, put, save
from tests.metrics import reference

OTHER = np.random.default_rng(5).standard_normal((50, D)) + 0.5


def by_torch(means: np.ndarray, other: np.ndarray) -> float:
    """The mean absolute cosine as torch has it."""
    mean = torch.from_numpy(other).mean(dim=0)
    cosines = torch.nn.functional.cosine_similarity(torch.from_numpy(means), mean[None])
    return float(cosines.abs().mean())


def class_means(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array(list(reference.class_means(features, labels).values()))


@pytest.mark.parametrize("normalize", ["auto", "off"])
def test_neco_of_arrays_and_files(
    tmp_path: Path, data: dict[str, np.ndarray], normalize: str
) -> None:
    expected = by_torch(class_means(data["features"], data["labels"]), OTHER)
    found = measure(**data, ood=OTHER, normalize=normalize)
    assert vars(found.variants.neco) == {
        "orthogonality_deviation": pytest.approx(expected, rel=1e-12),
        "ood_samples": 50,
    }
    assert found.variants.classic is None and found.policy.ood == "array"
    file = save(tmp_path / "a.h5", data)
    parts = [put(tmp_path / f"ood_{i}.npy", {"x": OTHER[i::2]}) for i in (0, 1)]
    whole = save(tmp_path / "ood.h5", {"far": OTHER, "near": OTHER + 1.0, "labels": np.arange(50)})
    for ood in (parts, f"{tmp_path}/ood_*.npy", f"{whole}:far"):
        named = measure(file, ood=ood, normalize=normalize)
        assert vars(named.variants.neco) == pytest.approx(vars(found.variants.neco), rel=1e-12)
    assert named.policy.ood == "ood.h5:far"
    assert measure(file, ood=parts).policy.ood == "ood_0.npy, ood_1.npy"
    everything = measure(file, ood=f"{whole}:far", variants="classic").variants
    assert everything.classic is not None and everything.neco is not None


def test_neco_takes_the_means_of_the_training_set(
    tmp_path: Path, data: dict[str, np.ndarray]
) -> None:
    train = data | {"features": data["features"] + 0.3}
    found = measure(**data, ood=OTHER).variants.neco
    files = [save(tmp_path / f"{name}.h5", set_) for name, set_ in (("a", data), ("t", train))]
    by_train = measure(files[0], ood=put(tmp_path / "o.npy", {"x": OTHER}), means_from=files[1])
    expected = by_torch(class_means(train["features"], train["labels"]), OTHER)
    assert by_train.variants.neco.orthogonality_deviation == pytest.approx(expected)
    assert found != by_train.variants.neco


@pytest.mark.parametrize(
    ("ood", "words"),
    [
        (OTHER[:, :2], "dimension 2, and those measured have 3"),
        (OTHER * np.nan, "NaN"),
        (OTHER[0], "expected real numbers"),
    ],
)
def test_features_that_are_none(data: dict[str, np.ndarray], ood: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        measure(**data, ood=ood)


def test_a_classifier_is_no_features_unless_its_key_says_so(
    tmp_path: Path, data: dict[str, np.ndarray]
) -> None:
    file = save(tmp_path / "a.h5", data)
    head = put(tmp_path / "head.npz", {"fc.weight": OTHER})
    with pytest.raises(DataError, match=r"called features; name one, as .*head.npz:KEY, of 'fc.w"):
        measure(file, ood=head)
    with pytest.raises(DataError, match="called features"):
        measure(features=head, labels=file)
    assert measure(file, ood=f"{head}:fc.weight").variants.neco.ood_samples == len(OTHER)


@pytest.mark.parametrize(
    "how",
    [{"ood": OTHER}, {"variants": "classic"}, {"labels_are": "one-based"}],
    ids=lambda how: next(iter(how)),
)
def test_options_about_samples_are_refused_for_weights(
    data: dict[str, np.ndarray], how: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(how))} requires samples, and"):
        measure(weights=data["weights"], **how)
