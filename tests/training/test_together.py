"""`train` in several processes over gloo: what one of them does; series of runs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.training.api import train
from tests.runtime.together import needs_gloo, together
from tests.training.problems import TINY, toy

SQUARE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
QUICK: dict[str, Any] = {
    "model": TINY,
    "epochs": 1,
    "batch_size": 48,
    "augment": [],
    "device": "cpu",
    "threads": 1,
}

ORDER = """
    from gnc_cli.errors import DataError
    from gnc_cli.runtime.distributed import Processes
    from gnc_cli.runtime.distributed import run_on_all, run_on_first
    def fail(who):
        def work():
            if rank == who:
                raise DataError(f"process {rank} cannot read it")
            return rank
        return work
    with Processes.current() as processes:
        print(run_on_first(processes, lambda: 10 + rank))
        print(run_on_all(processes, lambda: 10 + rank))
        for who in (0, 1):
            for share in (run_on_all, run_on_first):
                try:
                    print(share(processes, fail(who)))
                except DataError as error:
                    print(error, error.silent)
"""


@needs_gloo
def test_an_error_of_one_process_is_raised_in_all() -> None:
    first, second = (text.splitlines() for text in together(ORDER))
    assert first[:2] == ["10", "10"] and second[:2] == ["10", "11"]
    for rank, lines in enumerate((first, second)):
        said = [f"process {who} cannot read it {rank == 1}" for who in (0, 0, 1)]
        assert lines[2:] == [*said, "0"]  # what the second cannot, the first may do for it


TWO = """
    import json
    from gnc_cli.errors import DataError, OutputError
    from gnc_cli.training.api import train, train_series
    series = {{"data": {data!r}, "head": "fixed:" + {square!r}, "assignment": "all",
               "out": {out!r} + "/all", **{asked!r}}}
    import threading
    event = threading.Event()
    first = train_series(**series, on_epoch=lambda row: event.set(), interrupt=event)
    assert first.outcome == "interrupted" and len(first.rows) == 2
    for asked, error in (
        ({{}}, OutputError), ({{"resume": True, "lr": 7.0}}, Exception),
    ):
        try:
            train_series(**(series | asked))
        except error as refused:
            print(type(refused).__name__, refused)
    whole = train_series(**series, resume=True)
    print(json.dumps([[r.run, r.head.permutation, r.epochs] for r in whole.rows]))
    solved = train(**(series | {{"head": "fixed:solve", "assignment": "random", "feature_dim": 3,
                                 "loss": "cosface", "out": {out!r} + "/solved"}}))
    print(json.dumps([solved.head.code, solved.head.permutation, solved.head.margin]))
"""


@needs_gloo
def test_two_processes_refuse_solve_and_go_on_together(tmp_path: Path) -> None:
    data = toy(tmp_path / "toy.h5")
    np.save(tmp_path / "square.npy", SQUARE)
    told = together(
        TWO.format(data=data, square=str(tmp_path / "square.npy"), out=str(tmp_path), asked=QUICK)
    )
    lines, others = (text.splitlines() for text in told)
    assert lines == others
    taken, refused, series, solved = lines
    assert taken.startswith("OutputError ") and "already; continue with resume" in taken
    assert "lr 7.0: the run to resume has" in refused
    rows = json.loads(series)
    assert [Path(name).name for name, _, _ in rows] == [f"assignment-{i}" for i in (1, 2, 3)]
    assert len({tuple(placed) for _, placed, _ in rows}) == 3 and {e for *_, e in rows} == {1}
    code, placed, margin = json.loads(solved)
    assert "rho" in code and sorted(placed) == [0, 1, 2, 3] and margin > 0.5
    config = json.loads((tmp_path / "all" / "config.json").read_text())
    assert config["runs"] == 3 and config["settings"]["assignment"] == "all"


SCRIPT = """
    import json
    from gnc_cli.training.api import train
    for head in ("learned", "cmf"):
        asked = {{"head": head, "epochs": 3, "out": {out!r} + "/" + head, **{asked!r}}}
        result = train(data={data!r}, **asked)
        assert result.processes == 2 and result.outcome == "completed"
        assert (result.extras != {{}}) == (rank == 0)
        result = train(data={data!r}, resume=True, **(asked | {{"epochs": 4}}))
        print(json.dumps([result.to_json()["history"], result.test_accuracy, result.run]))
"""


@needs_gloo
@pytest.mark.slow  # networks/test_parallel.py trains in two, the test above runs in two
def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    data = toy(tmp_path / "toy.h5", each=25)  # 100 rows in 4 batches, 50 rows a process
    asked = {
        "model": TINY,
        "feature_dim": 3,
        "batch_size": 26,
        "lr": 0.01,
        "tau": 0.3,
        "seed": 1,
        "schedule": "constant",
        "augment": ["crop", "rotate"],
        "measure_every": 1,
        "device": "cpu",
        "threads": 1,
    }
    told = together(SCRIPT.format(out=str(tmp_path), asked=asked, data=data))
    first, second = (text.splitlines() for text in told)
    assert len(first) == len(second) == 2
    for head, line, other in zip(("learned", "cmf"), first, second, strict=True):
        alone = train(data=data, head=head, epochs=4, out=tmp_path / f"{head}-alone", **asked)  # type: ignore[arg-type]
        history, test_accuracy, run = json.loads(line)
        _, again, elsewhere = json.loads(other)
        assert run == elsewhere == str(tmp_path / head)
        assert test_accuracy == again == alone.to_json()["test_accuracy"]
        text = (tmp_path / head / "metrics.jsonl").read_text()
        lines = [json.loads(row) for row in text.splitlines()]
        assert lines == history and len(history) == 4
        for ours, one in zip(history, alone.to_json()["history"], strict=True):
            assert (ours["epoch"], ours["step"]) == (one["epoch"], one["step"])
            for name in ("loss", "gnc1", "gnc3"):
                assert ours[name] == pytest.approx(one[name], rel=2e-4), (head, name)
            assert ours["gnc2"]["lower"] == pytest.approx(one["gnc2"]["lower"], rel=2e-4)
            for name in ("lr", "train_accuracy", "test_accuracy", "ncc_accuracy"):
                assert ours[name] == one[name], (head, name)
        # The snapshot holds the rows of both, in the set's order.
        name = f"{tmp_path / head}/snapshots/epoch-0004-train.h5"
        found = measure(name)
        assert found.gnc1 == pytest.approx(history[-1]["gnc1"], abs=1e-9)
        assert found.accuracy == history[-1]["train_accuracy"]
