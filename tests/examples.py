"""The notebooks in `examples/`: `python -m tests.examples` runs them and keeps what they print."""

import tempfile
from pathlib import Path
from typing import Any

from tests.documents import ROOT, environment

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in a folder, by this interpreter.

    Raises:
        CellExecutionError: a cell raises.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook, timeout=600, record_timing=False, coalesce_streams=True, resources=place
    )
    client.execute(env=environment())
    return notebook


if __name__ == "__main__":
    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as name:
            nbformat.write(executed(path, Path(name)), path)
