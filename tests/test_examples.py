"""The notebooks in `examples/` run, and print what they hold."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples import NOTEBOOKS, executed

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

LARGEST = 60_000
"""Bytes of a notebook with its outputs: small plots, and no arrays."""


def _words(notebook: Any) -> list[str]:
    """Return the text of all outputs, with `#` for numbers, which hang on the machine."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            shown = output["text"] if "text" in output else output["data"].get("text/html", "")
            masked = re.sub(r"-?\d[\d.,]*(e[-+]\d+)?", "#", shown)
            texts.append(masked.replace("# min # s", "# s"))
    return texts


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_holds(path: Path, tmp_path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    assert path.stat().st_size < LARGEST
    assert not re.search(r"/(?:work|root|tmp|home|opt)/", path.read_text(encoding="utf-8"))
    assert all(
        output.output_type != "error" for cell in kept.cells for output in cell.get("outputs", ())
    )
    assert _words(executed(path, tmp_path)) == _words(kept)


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["certificate", "collapse", "dimension"]
