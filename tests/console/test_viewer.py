"""The pages that `--plot FILE.html` writes, opened and turned in a browser."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import solve
from gnc_cli.codes.certify import contact_pairs
from gnc_cli.console.viewer import Snapshot, write_code_page, write_run_page
from tests.browser import chromium, errors, served

pytest.importorskip("plotly")


def _code(path: Path, name: str, rattler: int | None = None) -> int:
    code: Any = solve(construction=name)
    W = code.weights
    free = np.zeros(len(W), dtype=bool)
    if rattler is not None:
        free[rattler] = True
    contacts = contact_pairs(W, 1e-9)
    write_code_page(
        path,
        title=f"{name} & co</script>",
        facts="one     two",
        weights=W,
        contacts=contacts,
        rattlers=free,
        names=[f"class <{k}>" for k in range(len(W))],
    )
    return len(contacts)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    folder = tmp_path_factory.mktemp("pages")
    assert _code(folder / "snub.html", "snub-cube", rattler=3) == 60
    _code(folder / "e8.html", "e8-roots")
    rng = np.random.default_rng(0)
    W = solve(5, 10).weights
    labels = np.repeat(np.arange(10), 4)
    snapshots = []
    for epoch, spread in ((1, 0.5), (5, 0.1), (10, 0.01)):
        H = W[labels] + spread * rng.standard_normal((40, 5))
        H /= np.linalg.norm(H, axis=1, keepdims=True)
        snapshots.append(Snapshot(f"epoch {epoch}", H, labels, W, np.arange(10), 40))
    names = [f"kind {k}" for k in range(10)]
    write_run_page(folder / "run.html", title="run", facts="", snapshots=snapshots, names=names)
    one = replace(snapshots[0], values="GNC1 0.1")
    write_run_page(folder / "one.html", title="one", facts="", snapshots=[one], names=())
    with chromium() as browser, served(folder) as address:
        yield browser, address


def test_a_page_names_the_classes_and_has_the_values(tmp_path: Path) -> None:
    W = np.eye(3)
    for K, names in ((3, ["cat", "<dog>"]), (41, [])):
        labels = np.arange(K)
        rows = W[labels % 3]
        shot = Snapshot("epoch 1", rows, labels, rows, labels, K, "GNC1 0.25, GNC2 1.5")
        write_run_page(tmp_path / "p.html", title="t", facts="", snapshots=[shot], names=names)
        text = (tmp_path / "p.html").read_text(encoding="utf-8")
        legend = re.findall(r'<p id="legend">(.*?)</p>', text)[0]
        assert ("one colour per class" in legend) == (K == 41)
        named = re.findall(r"</span> ([^,.]+)", legend)
        assert named == (["cat", "&lt;dog&gt;", "class 2"] if K == 3 else [])
        assert '"name": "epoch 1: GNC1 0.25, GNC2 1.5"' in text


def test_one_snapshot_has_nothing_to_play(pages: tuple[Any, str]) -> None:
    browser, address = pages
    browser.get(f"{address}/one.html")
    _until(browser, _DRAWN)
    assert not browser.find_elements("id", "play") and not browser.find_elements("id", "epoch")
    assert browser.find_element("css selector", "output").text == "epoch 1: GNC1 0.1"
    assert errors(browser) == []


def _points(browser: Any, trace: int) -> np.ndarray:
    """What the plot holds, shape (n, 3)."""
    script = """const t = document.getElementById("space").data[arguments[0]];
        return [t.x, t.y, t.z].map(axis => Array.from(axis))"""
    return np.array(browser.execute_script(script, trace), dtype=float).T


def _until(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 60).until(lambda b: b.execute_script(f"return {script}"))


def _rests(browser: Any) -> dict[str, float]:
    """The camera's eye, once what a click stopped has come to rest."""
    time.sleep(0.3)
    eye: dict[str, float] = _until(browser, _DRAWN)
    time.sleep(0.5)
    assert _until(browser, _DRAWN) == eye
    return eye


_DRAWN = "document.getElementById('space')?.layout?.scene?.camera?.eye"


def test_a_code_on_its_sphere_turns_until_it_is_touched(pages: tuple[Any, str]) -> None:
    browser, address = pages
    browser.get(f"{address}/snub.html")
    before = _until(browser, _DRAWN)
    _until(browser, f"Math.abs({_DRAWN}.y - {before['y']}) > 0.02")
    browser.find_element("id", "space").click()
    _rests(browser)
    points = _points(browser, 1)
    assert points.shape == (24, 3)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-4)
    colours = browser.execute_script("return document.getElementById('space').data[1].marker.color")
    assert [k for k, colour in enumerate(colours) if colour != colours[0]] == [3]
    assert browser.find_element("css selector", "h1").text == "snub-cube & co</script>"
    assert errors(browser) == []


def test_play_has_one_clock_and_ends(pages: tuple[Any, str]) -> None:
    browser, address = pages
    browser.get(f"{address}/run.html")
    _until(browser, _DRAWN)
    # Clocks that run when the test says so, however slow the browser is.
    browser.execute_script("""
        window.clocks = new Map();
        let id = 1000;
        window.setInterval = f => { window.clocks.set(++id, f); return id; };
        window.clearInterval = which => window.clocks.delete(which);
        window.tick = () => [...window.clocks.values()].forEach(f => f());
    """)
    play = browser.find_element("id", "play")
    assert play.text == "play"
    for clocks, word in ((1, "stop"), (0, "play"), (1, "stop")):
        play.click()
        assert (browser.execute_script("return window.clocks.size"), play.text) == (clocks, word)
    browser.execute_script("tick()")
    assert (play.text, browser.find_element("css selector", "output").text) == ("stop", "epoch 5")
    browser.execute_script("tick()")
    assert browser.execute_script("return window.clocks.size") == 0
    assert (play.text, browser.find_element("css selector", "output").text) == ("play", "epoch 10")
    play.click()  # from the beginning
    assert browser.find_element("css selector", "output").text == "epoch 1"
    browser.execute_script("const s = document.getElementById('epoch'); s.value = 1; s.oninput()")
    assert (browser.execute_script("return window.clocks.size"), play.text) == (0, "play")
    assert _texts(browser, 0)[:5] == ["kind 0"] * 4 + ["kind 1"]
    assert _texts(browser, 1)[9] == "weight of kind 9"
    assert errors(browser) == []


def _texts(browser: Any, trace: int) -> list[str]:
    script = "return document.getElementById('space').data[arguments[0]].text"
    return list(browser.execute_script(script, trace))


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


def test_a_browser_without_webgl_gets_a_sentence_and_the_flat_panels(
    pages: tuple[Any, str],
) -> None:
    browser, address = pages
    source = """const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
          return kind.includes("webgl") ? null : get.call(this, kind, ...more); };"""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    try:
        browser.get(f"{address}/e8.html")
        _until(browser, "document.getElementById('heat')?.data?.length")
        assert "no WebGL" in browser.find_element("id", "space").text
        browser.get(f"{address}/run.html")
        assert "no WebGL" in browser.find_element("id", "space").text
        assert errors(browser) == []
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
