"""Labels as people have them (`io/loading.py`): one-hot, from 1, or without a name in the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import torch
from hypothesis import given, strategies
from pyarrow import parquet

from gnc_cli import measure
from gnc_cli.errors import DataError
from gnc_cli.io.loading import read_labels
from gnc_cli.parameters import in_shell
from tests.collapse.conftest import K, put

FORMS = {"one-based": lambda y: y + 1, "one-hot": lambda y: np.eye(K, dtype=np.float32)[y]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("suffix", [".h5", ".npy", None])
def test_labels_in_the_form_that_is_said(
    tmp_path: Path, data: dict[str, np.ndarray], form: str, suffix: str | None
) -> None:
    expected, given = measure(**data), dict[str, Any](data)
    given["labels"] = FORMS[form](data["labels"])
    if suffix is not None:
        given = {
            name: put(tmp_path / f"{name}{suffix}", {"x": array}) for name, array in given.items()
        }
    found = measure(**given, labels_are=form)
    own = {"gnc/seconds": found.seconds, "gnc/file": found.file}
    assert found.flat() == pytest.approx(expected.flat() | own)
    with pytest.raises(DataError, match=f"labels_are='{form}'"):
        measure(**given)


def test_labels_from_one_without_weights(data: dict[str, np.ndarray]) -> None:
    del data["weights"], data["bias"]
    data["labels"] = data["labels"] + 1
    suspect = measure(**data)
    assert suspect.K == K + 1 and "count from 1" in suspect.warnings[0]
    assert "labels_are='one-based'" in suspect.warnings[0]
    with pytest.raises(DataError, match="expected 0 to 11; if they count from 1"):
        measure(**data, K=K)
    assert not measure(**data, labels_are="one-based").warnings
    data["labels"][data["labels"] == 2] = 4  # with gaps they may well be from 0
    assert not measure(**data).warnings


@pytest.mark.parametrize(
    ("values", "form", "words"),
    [
        ([0, 1, 2], "one-based", "the first is 0 at row 0; expected integers from 1 on"),
        ([0, 1, 2], "one-hot", "(3,) is not one-hot"),
        ([[1, 0], [1, 1]], "one-hot", "not one-hot: 1 row(s) without exactly one 1"),
        ([[1, 0], [0, 1]], "one-based", "one-hot"),
        ([[0.0, 1.0], [1.0, 0.0]], "zero-based", "is one-hot, shape (2, 2)"),
    ],
)
def test_labels_in_another_form_than_said(values: list[Any], form: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_labels(np.array(values), "y", str(np.array(values).dtype), form=form)
    assert words in str(caught.value) and str(caught.value).startswith("y")


def test_a_file_of_labels_in_place_of_a_code(gnc: Any, tmp_path: Path) -> None:
    y = put(tmp_path / "y.npy", {"x": np.arange(9) % 3})
    assert f"--features FILE --labels {y}" in gnc("measure", y).stderr


WORDS = np.array([f"class-{k:02}" for k in range(K)])


def stored(path: Path, labels: Any) -> str:
    """A file of these labels alone, in the format of its suffix."""
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.table({"y": labels}), path)
        return str(path)
    return put(path, {"y": labels})


@pytest.mark.parametrize("suffix", [".h5", ".npy", ".pt", None])
@pytest.mark.parametrize("mark", [255, 7])
def test_samples_of_an_ignored_label_are_left_out(
    tmp_path: Path, data: dict[str, np.ndarray], suffix: str | None, mark: int
) -> None:
    """Before K is read, with and without weights; the numbers are those of the other samples."""
    whole = {name: data[name] for name in ("features", "labels")}
    left_out = np.arange(len(data["labels"])) % 9 == 0
    labels = np.where(left_out, mark, data["labels"])
    rest = {name: array[labels != mark] for name, array in (whole | {"labels": labels}).items()}
    given: Any = labels if suffix is None else stored(tmp_path / f"y{suffix}", labels)
    features: Any = data["features"]
    if suffix is not None:
        features = put(tmp_path / "f.npy", {"x": features})
    for head in ({}, {"weights": data["weights"], "bias": data["bias"]}):
        named = head
        if suffix is not None:
            named = {name: put(tmp_path / f"{name}.npy", {"x": a}) for name, a in head.items()}
        found = measure(features=features, labels=given, ignore_label=mark, **named)
        expected = measure(**rest, **head, K=K)
        assert found.N == expected.N and found.gnc1 == expected.gnc1
        assert found.accuracy == expected.accuracy
        count = int((labels == mark).sum())
        text = f"{count} of {len(labels)} samples have label -1, -100 or {mark}: left out"
        assert text in found.warnings


def test_ignored_words_are_no_class(tmp_path: Path, data: dict[str, np.ndarray]) -> None:
    keep = data["labels"] != 3
    expected = measure(features=data["features"][keep], labels=WORDS[data["labels"][keep]])
    words = WORDS[data["labels"]]
    features = put(tmp_path / "f.npy", {"x": data["features"]})
    file = stored(tmp_path / "y.parquet", words)
    given: list[dict[str, Any]] = [{"features": data["features"], "labels": words}]
    given += [{"features": data["features"], "labels": list(words)}]
    given += [{"features": data["features"], "labels": words.astype("S")}]
    given += [{"features": features, "labels": file}]
    for arguments in given:
        found = measure(**arguments, ignore_label=["class-03"])
        assert (found.K, found.gnc1) == (K - 1, expected.gnc1)
    found = measure(**given[0])
    assert found.K == K and found.gnc1 == measure(**given[0] | {"labels": data["labels"]}).gnc1


def test_a_label_far_beyond_the_others_names_the_option(data: dict[str, np.ndarray]) -> None:
    labels = np.where(np.arange(len(data["labels"])) < 6, 255, data["labels"])
    given = {"features": data["features"], "labels": labels}
    with in_shell():
        (warning,) = [text for text in measure(**given).warnings if "255" in text]
        assert "far beyond the others, 0 to 11" in warning and "--ignore-label 255" in warning
        with pytest.raises(DataError, match="K = 12; expected 0 to 11; .* --ignore-label 255"):
            measure(**given, weights=data["weights"])
        with pytest.raises(DataError, match="-2 at row 6.*--ignore-label -2"):
            measure(**given | {"labels": np.where(labels == labels[6], -2, labels)})
    near = np.where(labels == 255, K + 9, labels)  # within the number of classes
    assert not measure(**given | {"labels": near}).warnings
    two = measure(**given | {"labels": (data["labels"] > 4) * 255})
    assert "labels are 0 and 255 alone; number the classes 0 and 1" in two.warnings


@pytest.mark.parametrize(
    ("dtype", "exact"),
    [("float16", 2048), (">f2", 2048), ("float32", 1 << 24), ("float64", 1 << 53)],
)
def test_labels_that_the_dtype_rounds_are_refused(dtype: str, exact: int) -> None:
    labels = np.array([0, 1, exact - 1, exact, exact + 2], dtype=dtype)
    assert read_labels(labels[:3], "y", dtype)[0].tolist() == [0, 1, exact - 1]
    with pytest.raises(DataError, match=f"y has 2 label.* of {exact} or more, which .* rounds"):
        read_labels(labels, "y", dtype)


@pytest.mark.parametrize("suffix", [".h5", ".npy", ".pt", None])
def test_rounded_and_infinite_labels(tmp_path: Path, suffix: str | None) -> None:
    labels = np.arange(6000).astype(np.float16)
    features = np.random.default_rng(0).standard_normal((6000, 4))
    inf = np.where(np.arange(6000) == 7, np.inf, labels % 7).astype(np.float16)
    for number, (bad, words) in enumerate(
        ((labels, r"3952 label\(s\) of 2048 or more"), (inf, r"1 value.*inf at row 7"))
    ):
        given: dict[str, Any] = {"features": features, "labels": bad}
        if suffix is not None:
            given = {n: put(tmp_path / f"{n}{number}{suffix}", {"x": a}) for n, a in given.items()}
        with pytest.raises(DataError, match=words):
            measure(**given)


def test_bfloat16_labels() -> None:
    labels = torch.arange(600) % 300
    with pytest.raises(DataError, match="88 label.* of 256 or more, which bfloat16 rounds"):
        measure(features=torch.randn(600, 4), labels=labels.bfloat16())


@pytest.mark.parametrize("suffix", [".h5", ".npy", ".pt", None])
def test_booleans_and_probabilities(
    tmp_path: Path, data: dict[str, np.ndarray], suffix: str | None
) -> None:
    soft = np.full((len(data["labels"]), K), 0.2 / (K - 1), np.float32)
    soft[np.arange(len(soft)), data["labels"]] = 0.8
    for number, (labels, expected, note) in enumerate(
        (
            (data["labels"] > 4, (data["labels"] > 4).astype(int), "booleans"),
            (soft, data["labels"], f"probabilities of {K} classes"),
        )
    ):
        given: dict[str, Any] = {"features": data["features"], "labels": labels}
        if suffix is not None:
            given = {n: put(tmp_path / f"{n}{number}{suffix}", {"x": a}) for n, a in given.items()}
        found = measure(**given)
        plain = measure(features=data["features"], labels=expected)
        assert (found.K, found.gnc1) == (plain.K, plain.gnc1)
        assert [note in text for text in found.notes] == [True]
        with pytest.raises(DataError, match="drop labels_are='one-hot'"):
            measure(**given, labels_are="one-hot")


def test_multi_label_is_refused_with_a_step_that_works(data: dict[str, np.ndarray]) -> None:
    labels = np.eye(K, dtype=int)[data["labels"]]
    labels[5] = 0
    labels[9, :2] = 1
    for form in ("zero-based", "one-hot"):
        with pytest.raises(DataError, match=r"multi-label.*2 row.* first is row 5.*one = "):
            measure(features=data["features"], labels=labels, labels_are=form)
    one = labels.sum(axis=1) == 1
    measure(features=data["features"][one], labels=labels[one].argmax(axis=1))


@given(
    strategies.lists(strategies.integers(0, 9), min_size=1, max_size=20),
    strategies.sampled_from(["i1", ">i4", "u8", "f2", "<f4", "f8"]),
    strategies.sampled_from([0, 1]),
)
def test_every_dtype_holds_the_same_labels(labels: list[int], dtype: str, first: int) -> None:
    form = ["zero-based", "one-based"][first]
    values = (np.array(labels) + first).astype(dtype)
    ignored = (str(labels[0] + first),)
    found, note = read_labels(values, "y", dtype, form=form, ignored=ignored)
    assert note is None
    assert found.tolist() == [-1 if label == labels[0] else label for label in labels]


def test_labels_of_one_class_or_none(data: dict[str, np.ndarray]) -> None:
    for labels, words in (
        (np.full(len(data["labels"]), 4), "every sample has label 4; at least two classes"),
        (np.full(len(data["labels"]), -1), "all 240 samples are left out"),
    ):
        with pytest.raises(DataError, match=words):
            measure(features=data["features"], labels=labels)
    with pytest.raises(DataError, match="holds no rows"):
        measure(features=data["features"][:0], labels=data["labels"][:0])


def test_probabilities_are_no_labels_from_one() -> None:
    labels = np.arange(60) // 5
    features = np.random.default_rng(0).standard_normal((60, 3))
    soft = 0.6 * np.eye(K)[labels] + 0.4 / K
    found = measure(features=features, labels=soft, labels_are="one-based")
    assert found.gnc1 == measure(features=features, labels=labels).gnc1


@pytest.mark.parametrize("kind", ["Float64", "float64[pyarrow]"])
def test_floats_of_pandas_are_exact(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    many = np.arange(60) // 3
    features = np.random.default_rng(0).standard_normal((60, 3))
    found: Any = measure(features=features, labels=pandas.Series(many, dtype=kind))
    assert found.K == 20


def test_training_labels_of_another_kind_are_refused(tmp_path: Path) -> None:
    classes = np.arange(30) % 3
    features = np.random.default_rng(0).standard_normal((30, 3))
    words = np.array(["zebra", "ant", "moth"])[classes]
    np.savez(tmp_path / "train.npz", features=features, labels=classes)
    with pytest.raises(DataError, match="class_names"):
        measure(features=features, labels=words, means_from=tmp_path / "train.npz")
    measure(
        features=features,
        labels=words,
        means_from=tmp_path / "train.npz",
        class_names=["zebra", "ant", "moth"],
    )


def test_a_class_that_only_the_training_set_has_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 4
    features = rng.standard_normal((4, 5))[classes] + 0.1 * rng.standard_normal((60, 5))
    seen = classes < 3
    np.savez(tmp_path / "train.npz", features=features, labels=classes)
    found: Any = measure(
        features=features[seen], labels=classes[seen], means_from=tmp_path / "train.npz"
    )
    assert (found.K, found.classes.present, found.ncc_accuracy) == (4, 3, 1.0)
    words = np.array(["ant", "bee", "cat", "doe"])
    np.savez(tmp_path / "train.npz", features=features, labels=words[classes])
    named: Any = measure(
        features=features[seen],
        labels=words[classes[seen]],
        means_from=tmp_path / "train.npz",
        class_names=words.tolist(),
    )
    assert named.K == 4 and named.gnc1 == found.gnc1


def test_labels_minus_one_and_one_are_a_question() -> None:
    features = np.random.default_rng(0).standard_normal((20, 3))
    labels = np.where(np.arange(20) % 2, 1, -1)
    with pytest.raises(DataError, match=r"\(labels \+ 1\) // 2"):
        measure(features=features, labels=labels, weights=features[:1])
    measure(features=features, labels=(labels + 1) // 2, weights=features[:1])


def test_a_float_names_the_label_to_ignore() -> None:
    features = np.random.default_rng(0).standard_normal((20, 3))
    labels = np.where(np.arange(20) < 5, 255.0, np.arange(20) % 3)
    found: Any = measure(features=features, labels=labels, ignore_label=255.0)
    assert (found.N, found.K) == (15, 3)
