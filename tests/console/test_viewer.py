"""The pages that `--plot FILE.html` writes, opened and turned in a browser."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import solve
from gnc_cli.console.viewer import Snapshot, write_code_page, write_run_page
from gnc_cli.geometry.gram import pairs_above
from tests.browser import chromium, errors, served

pytest.importorskip("plotly")


def _code(path: Path, name: str, rattler: int | None = None) -> int:
    code: Any = solve(construction=name)
    W = code.weights
    free = np.zeros(len(W), dtype=bool)
    if rattler is not None:
        free[rattler] = True
    contacts = np.asarray(pairs_above(W, code.max_cosine - 1e-9))
    write_code_page(
        path, title=f"{name} & co", facts="</script> is no end", weights=W, contacts=contacts,
        rattlers=free, names=[f"class <{k}>" for k in range(len(W))],
    )  # fmt: skip
    return len(contacts)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    folder = tmp_path_factory.mktemp("pages")
    assert _code(folder / "snub.html", "snub-cube", rattler=3) == 60
    _code(folder / "e8.html", "e8-roots")
    rng = np.random.default_rng(0)
    W = solve(5, 10).weights  # type: ignore[union-attr]
    labels = np.repeat(np.arange(10), 4)
    snapshots = []
    for epoch, spread in ((1, 0.5), (10, 0.01)):
        H = W[labels] + spread * rng.standard_normal((40, 5))
        H /= np.linalg.norm(H, axis=1, keepdims=True)
        snapshots.append(Snapshot(f"epoch {epoch}", H, labels, W))
    write_run_page(folder / "run.html", title="run", facts="", snapshots=snapshots)
    with chromium() as browser, served(folder) as address:
        yield browser, address


def _points(browser: Any, trace: int) -> np.ndarray:
    """What the plot holds, shape (n, 3)."""
    script = """const t = document.getElementById("space").data[arguments[0]];
        return [t.x, t.y, t.z].map(axis => Array.from(axis))"""
    return np.array(browser.execute_script(script, trace), dtype=float).T


def _until(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 60).until(lambda b: b.execute_script(f"return {script}"))


_DRAWN = "document.getElementById('space')?.layout?.scene?.camera?.eye"


def test_a_code_on_its_sphere_turns_until_it_is_touched(pages: tuple[Any, str]) -> None:
    browser, address = pages
    browser.get(f"{address}/snub.html")
    before = _until(browser, _DRAWN)
    _until(browser, f"Math.abs({_DRAWN}.y - {before['y']}) > 0.02")
    browser.find_element("id", "space").click()
    time.sleep(0.3)
    still = _until(browser, _DRAWN)
    time.sleep(0.5)
    assert _until(browser, _DRAWN) == still
    points = _points(browser, 1)
    assert points.shape == (24, 3)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-4)
    colours = browser.execute_script(
        "return document.getElementById('space').data[1].marker.color"
    )
    assert [k for k, colour in enumerate(colours) if colour != colours[0]] == [3]
    assert browser.find_element("css selector", "h1").text == "snub-cube & co"
    assert errors(browser) == []


def test_more_dimensions_have_projections_a_heat_map_and_degrees(pages: tuple[Any, str]) -> None:
    from selenium.webdriver.support.select import Select

    browser, address = pages
    browser.get(f"{address}/e8.html")
    _until(browser, _DRAWN)
    first = _points(browser, 1)
    choice = Select(browser.find_element("id", "projection"))
    assert len(choice.options) >= 5
    choice.select_by_visible_text("seen from point 0")
    heights = _points(browser, 1)[:, 2]
    assert first.shape == (240, 3) and set(np.round(heights, 3)) == {-1.0, -0.5, 0.0, 0.5, 1.0}
    heat = browser.execute_script("return document.getElementById('heat').data[0].z.length")
    bars = browser.execute_script("return document.getElementById('degrees').data[0]")
    assert heat == 240 and (list(bars["x"]), list(bars["y"])) == ([56], [240])
    assert errors(browser) == []


def test_features_move_over_the_epochs(pages: tuple[Any, str]) -> None:
    browser, address = pages
    browser.get(f"{address}/run.html")
    _until(browser, _DRAWN)
    early, weights = _points(browser, 0), _points(browser, 1)
    browser.execute_script(
        "const slider = document.getElementById('epoch'); slider.value = 1; slider.oninput()"
    )
    _until(browser, "document.querySelector('output').textContent === 'epoch 10'")
    late = _points(browser, 0)
    labels = np.repeat(np.arange(10), 4)
    assert np.linalg.norm(late - weights[labels], axis=1).max() < 0.1
    assert np.linalg.norm(early - weights[labels], axis=1).max() > 0.2
    assert errors(browser) == []
