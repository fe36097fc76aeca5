"""Several processes, of which one is interrupted, refused or killed: none of the others waits."""

import json
from pathlib import Path

import h5py
import numpy as np

from gnc_cli.io.ledger import Ledger
from tests.runtime.together import needs_gloo, together

MEASURED = """
import json, threading
from gnc_cli import measure_series
from gnc_cli.errors import GncError
from gnc_cli.runtime.distributed import Processes

interrupt = threading.Event()
if rank == 1 and {interrupted}:
    interrupt.set()
try:
    found = measure_series({files!r}, out={out!r}, resume={out!r} is not None, interrupt=interrupt)
    print(json.dumps([found.interrupted, len(found.rows)]))
except GncError as error:
    print(json.dumps([str(error), error.silent]))
with Processes.current() as processes:
    processes.all_gather(0)  # still in step
"""


def samples(name: str, broken: bool = False) -> str:
    """Features of which the last row, which the second process reads, may be broken."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 3))
    if broken:
        features[-1, -1] = np.nan
    with h5py.File(name, "w") as h5:
        h5["features"], h5["labels"] = features, np.arange(600) % 4
    return name


def told(**how: object) -> list[list[object]]:
    script = MEASURED.format(**{"interrupted": False, "out": None} | how)
    return [json.loads(line) for line in together(script)]


@needs_gloo
def test_one_that_is_interrupted_ends_all(tmp_path: Path) -> None:
    files = [samples(str(tmp_path / name)) for name in ("a.h5", "b.h5")]
    assert told(files=files, interrupted=True) == [[True, 0]] * 2


@needs_gloo
def test_what_one_cannot_read_all_refuse(tmp_path: Path) -> None:
    files = [samples(str(tmp_path / "a.h5")), samples(str(tmp_path / "b.h5"), broken=True)]
    (first, silent), (second, quiet) = told(files=files)
    assert first == second and "b.h5" in str(first) and (silent, quiet) == (False, True)


@needs_gloo
def test_what_the_first_cannot_write_all_refuse(tmp_path: Path) -> None:
    out, file = tmp_path / "rows.jsonl", samples(str(tmp_path / "a.h5"))
    with Ledger(out, dict, "schema", None):
        (first, silent), (second, quiet) = told(files=[file], out=str(out))
    assert first == second and "another run" in str(first) and (silent, quiet) == (False, True)


@needs_gloo
def test_one_that_has_gone_is_no_bug_of_the_others() -> None:
    said, _ = together(
        """
        import os
        from gnc_cli.console.process import refusal
        from gnc_cli.runtime.distributed import Processes

        processes = Processes.current()
        processes.all_gather(0)
        if rank == 1:
            os._exit(0)
        try:
            for _ in range(100):
                processes.all_gather(0)
        except Exception as error:
            found = refusal(error)
            print(found.exit_code, found, flush=True)
        os._exit(0)
        """
    )
    assert said.startswith("6 another process of this run has ended"), said


def rows(folder: Path) -> list[str]:
    path = folder / "run/metrics.jsonl"
    return path.read_text().splitlines() if path.exists() else []
