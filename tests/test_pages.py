"""`--plot FILE.html` of the commands: what the page holds, without a browser."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import compare, measure, solve, train
from gnc_cli.errors import DataError, UnavailableError, UsageError

pytest.importorskip("plotly")


def _page(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    assert "@DATA@" not in text and "@PLOTLY@" not in text
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    found: dict[str, Any] = json.loads(data)
    return found


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
        assert sorted(page["heat"]["order"]) == list(range(12))


def test_snapshots_of_a_file_and_of_a_run(tmp_path: Path) -> None:
    run: Any = train(classes=3, feature_dim=3, image_size=16, width=0.25, epochs=2,
                     out=tmp_path / "run", plot=tmp_path / "run.html")  # fmt: skip
    measure(tmp_path / "run/snapshots.h5", select={"split": "train"}, plot=tmp_path / "file.html")
    page = _page(tmp_path / "run.html")
    assert page == _page(tmp_path / "file.html")
    assert [frame["name"] for frame in page["frames"]] == ["epoch 1", "epoch 2"]
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
    with pytest.raises(UnavailableError, match="viewer"):
        solve(3, 4, plot=page)
    assert not page.exists()
