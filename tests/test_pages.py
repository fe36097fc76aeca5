"""`--plot FILE.html` of the commands: what the page holds, without a browser."""

import base64
import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import compare, measure, measure_series, solve, train
from gnc_cli.collapse.measurer import Measurer
from gnc_cli.console.viewer import write_code_page
from gnc_cli.errors import DataError, UnavailableError, UsageError
from gnc_cli.io.codefile import CodeFile, write_code

pytest.importorskip("plotly")


def _page(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    assert "@DATA@" not in text and "@PLOTLY@" not in text
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    found: dict[str, Any] = json.loads(data)
    return found


def _legend(path: Path) -> str:
    (legend,) = re.findall(r'<p id="legend">(.*)</p>', path.read_text(encoding="utf-8"))
    return str(legend)


def _array(packed: dict[str, str]) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")
    return values.reshape([int(n) for n in packed["shape"].split(",")])


def test_a_code_and_its_comparison(tmp_path: Path) -> None:
    code: Any = solve(3, 12, plot=tmp_path / "solved.html")
    compare(code.weights, plot=tmp_path / "compared.html")
    for name in ("solved", "compared"):
        page = _page(tmp_path / f"{name}.html")
        points = _array(page["views"]["as it is"]).T
        np.testing.assert_allclose(points, code.weights, atol=1e-5)
        assert page["degrees"] == {"x": [5], "y": [12]}  # the icosahedron
        assert sorted(page["heat"]["names"]) == sorted(f"point {k}" for k in range(12))


def test_points_have_the_names_that_the_file_has(tmp_path: Path) -> None:
    names = ["a <b>", "cat", "dog", "eel"]
    code: Any = solve(3, 4)
    write_code(tmp_path / "named.h5", CodeFile(code.weights, attrs={"class_names": names}))
    compare(tmp_path / "named.h5", plot=tmp_path / "a.html")
    page = _page(tmp_path / "a.html")
    shown = ["a &lt;b&gt;", *names[1:]]
    assert page["labels"] == [f"{name}<br>3 contacts" for name in shown]
    assert sorted(page["heat"]["names"]) == shown


def test_what_is_left_out_is_said_and_chosen_evenly(tmp_path: Path) -> None:
    K = 4000
    angles = 2 * np.pi * np.arange(K) / K
    W = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(K)])
    pairs = np.array([(j, k) for k in range(K) for j in (k - 1, k - 2, k - 3) if j >= 0])
    page = tmp_path / "a.html"
    write_code_page(page, title="", facts="", weights=W, contacts=pairs, rattlers=np.arange(K) < 7)
    data, legend = _page(page), _legend(page)
    shown = _array(data["views"]["as it is"]).T
    turned = np.unwrap(np.arctan2(shown[:, 1], shown[:, 0]))
    assert len(shown) == 3000 and np.diff(turned).max() < 2.1 * 2 * np.pi / K
    arcs = _array(data["arcs"]["as it is"]).T
    arcs = arcs[1:][np.isnan(arcs[:-1, 0])]  # the first point of each, but one
    assert 2000 < len(arcs) <= 6000
    around = np.histogram(np.arctan2(arcs[:, 1], arcs[:, 0]), 8, (-np.pi, np.pi))[0]
    assert around.min() > 0.9 * around.max()
    assert "points" in legend and "one-vs-one rattlers (7)" in legend
    for said in (
        "3,000 of 4,000 points",
        f"{len(arcs) + 1:,} of 11,994 contacts",
        "400 of 4,000 points in the heat map",
        "evenly",
    ):
        assert said in legend, said


def test_contacts_that_were_not_counted_are_not_called_none(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    W = np.eye(4)
    write_code_page(page, title="", facts="", weights=W, contacts=None, rattlers=None)
    data = _page(page)
    assert data["degrees"] is None and data["labels"] == [f"point {k}" for k in range(4)]
    assert "contacts were not counted" in _legend(page) and "rattler" not in _legend(page)


def test_samples_are_drawn_from_each_class_and_means_keep_their_class(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.tile(np.array([0, 2, 5]), 2000)
    features = np.eye(6)[labels] + 0.01 * rng.standard_normal((6000, 6))
    names = tmp_path / "names.txt"
    names.write_text("\n".join("abcdef"))
    np.savez(tmp_path / "a.npz", features=features, labels=labels)
    measure(tmp_path / "a.npz", class_names=names, plot=tmp_path / "a.html")
    data, legend = _page(tmp_path / "a.html"), _legend(tmp_path / "a.html")
    (frame,) = data["frames"]
    assert np.bincount(frame["classes"]).tolist() == [1000, 0, 1000, 0, 0, 1000]
    assert frame["of"] == [0, 2, 5] and data["names"] == [*"abcdef"]
    assert "3,000 of 6,000 samples" in legend and "diamonds" in legend


def test_snapshots_of_a_file_and_of_a_run(tmp_path: Path) -> None:
    run: Any = train(
        classes=3,
        feature_dim=3,
        image_size=16,
        width=0.25,
        epochs=2,
        out=tmp_path / "run",
        plot=tmp_path / "run.html",
    )
    measure_series(
        tmp_path / "run/snapshots", select={"split": "train"}, plot=tmp_path / "file.html"
    )
    page = _page(tmp_path / "run.html")
    file = _page(tmp_path / "file.html")
    shown = [frame.pop("name") for frame in page["frames"]]
    names = [frame.pop("name").partition(", accuracy")[0] for frame in file["frames"]]
    assert page["frames"] == file["frames"] and file["names"] == []
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert page["names"] == config["class_names"] and len(page["names"]) == 3
    assert [name.partition(", training accuracy")[0] for name in shown] == names
    assert [name.partition(": GNC1 centred ")[0] for name in shown] == ["epoch 1", "epoch 2"]
    assert all("test accuracy" in name and "GNC2 " in name and "NCC " in name for name in shown)
    last = page["frames"][-1]
    points = _array(last["points"]).T
    assert len(points) == len(last["classes"]) == run.data["train_images"]
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-5)


def test_what_has_no_page_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "x.html"
    with pytest.raises(UsageError, match="one file"):
        compare(list=True, plot=page)
    with pytest.raises(DataError, match="features with labels"):
        measure(weights=np.eye(4), plot=page)
    monkeypatch.setattr("gnc_cli.io.arguments.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match="x.html. needs plotly; pip install plotly"):
        solve(3, 4, plot=page)
    assert not page.exists()


def test_what_a_page_cannot_show_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "w.npz", weights=np.eye(4))
    monkeypatch.setattr(Measurer, "measure", None)
    with pytest.raises(DataError, match="shows features with labels"):
        measure(tmp_path / "w.npz", plot=tmp_path / "p.html")


def test_a_run_without_a_snapshot_keeps_its_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopped = threading.Event()
    stopped.set()
    for name, missing in (("run.html", "no training snapshot yet"), ("run.png", "no epoch yet")):
        run: Any = train(
            classes=3,
            feature_dim=3,
            image_size=16,
            width=0.25,
            epochs=2,
            out=tmp_path / "run",
            force=True,
            interrupt=stopped,
            plot=tmp_path / name,
        )
        assert run.outcome == "interrupted" and not (tmp_path / name).exists()
        assert f"{name}' is not written: the run has {missing}; continue with" in caplog.text


def test_prefixes_have_no_page(tmp_path: Path) -> None:
    W = np.eye(4)
    with pytest.raises(UsageError, match="draw a .png"):
        measure_series(weights=W, prefix_dims=(2,), plot=tmp_path / "p.html")
