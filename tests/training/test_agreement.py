"""What processes of `train` do once for all: refusals, codes, placements, series."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.errors import DataError, GncError, UnavailableError, UsageError
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training import run as train_run
from gnc_cli.training.api import train
from gnc_cli.training.result import TrainSeries
from gnc_cli.training.together import in_all, in_turn, of_first
from tests.runtime.together import needs_gloo, together
from tests.training.problems import TINY, run, toy

SQUARE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
QUICK: dict[str, Any] = {
    "model": TINY, "epochs": 1, "batch_size": 48, "augment": [], "device": "cpu", "threads": 1,
}  # fmt: skip

ORDER = """
    import os, pathlib, time
    from gnc_cli.errors import DataError
    from gnc_cli.runtime.distributed import Processes
    from gnc_cli.training.together import in_all, in_turn, of_first
    cache = pathlib.Path({cache!r})
    def draw():
        if not cache.exists():
            time.sleep(0.2)
            cache.write_text(str(rank))
        return cache.read_text()
    def fail(who):
        def work():
            if rank == who:
                raise DataError(f"process {{rank}} cannot read it")
            return rank
        return work
    with Processes.current() as processes:
        print(in_turn(processes, draw), of_first(processes, lambda: 10 + rank))
        print(in_all(processes, lambda: 10 + rank))
        for who in (0, 1):
            for share in (in_all, in_turn, of_first):
                try:
                    print(share(processes, fail(who)))
                except DataError as error:
                    print(error, error.told)
"""


@needs_gloo
def test_what_one_cannot_none_can_and_the_first_says_it(tmp_path: Path) -> None:
    told = together(ORDER.format(cache=str(tmp_path / "cache")))
    first, second = (text.splitlines() for text in told)
    assert first[:2] == ["0 10", "10"] and second[:2] == ["0 10", "11"]
    for rank, lines in enumerate((first, second)):
        said = [f"process {who} cannot read it {rank == 1}" for who in (0, 0, 0, 1, 1)]
        assert lines[2:] == [*said, "0"]  # what the second cannot, the first may do for it


def test_one_process_needs_nobody() -> None:
    def fail() -> int:
        raise UsageError("no")

    for share in (in_all, in_turn, of_first):
        assert share(Processes(), lambda: None) is None
        with pytest.raises(UsageError, match="no") as caught:
            share(Processes(), fail)
        assert caught.value.told is False and GncError.told is False


TWO = """
    import json
    from gnc_cli.errors import DataError, OutputError
    from gnc_cli.training.api import train
    series = {{"data": {data!r}, "head": "fixed:" + {square!r}, "assignment": "all",
               "out": {out!r} + "/all", **{asked!r}}}
    import threading
    event = threading.Event()
    first = train(**series, on_epoch=lambda row: event.set(), interrupt=event)
    assert first.outcome == "interrupted" and len(first.rows) == 2
    for asked, error in (
        ({{}}, OutputError), ({{"resume": True, "lr": 7.0}}, Exception),
    ):
        try:
            train(**(series | asked))
        except error as refused:
            print(type(refused).__name__, refused)
    whole = train(**series, resume=True)
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
        TWO.format(
            data=data, square=str(tmp_path / "square.npy"), out=str(tmp_path), asked=QUICK
        )
    )
    lines, others = (text.splitlines() for text in told)
    assert lines == others
    taken, refused, series, solved = lines
    assert taken.startswith("OutputError ") and "already; go on with --resume" in taken
    assert "lr 7.0: the run to resume has" in refused
    rows = json.loads(series)
    assert [Path(name).name for name, _, _ in rows] == [f"assignment-{i}" for i in (1, 2, 3)]
    assert len({tuple(placed) for _, placed, _ in rows}) == 3 and {e for *_, e in rows} == {1}
    code, placed, margin = json.loads(solved)
    assert "rho" in code and sorted(placed) == [0, 1, 2, 3] and margin > 0.5
    config = json.loads((tmp_path / "all" / "config.json").read_text())
    assert config["runs"] == 3 and config["settings"]["assignment"] == "all"


def test_a_series_replaced_leaves_no_run_of_the_earlier_one(tmp_path: Path) -> None:
    data = toy(tmp_path / "toy.h5")
    np.save(tmp_path / "square.npy", SQUARE)
    asked = QUICK | {
        "data": data, "head": f"fixed:{tmp_path / 'square.npy'}", "assignment": "all",
        "out": tmp_path / "all",
    }  # fmt: skip
    assert isinstance(train(**asked), TrainSeries)
    names = sorted(path.name for path in (tmp_path / "all").glob("assignment*"))
    assert names == ["assignment-1", "assignment-2", "assignment-3"]
    (tmp_path / "all" / "assignment-3" / "mine.txt").write_text("kept")
    halt = threading.Event()
    again = train(**asked, force=True, interrupt=halt, on_epoch=lambda row: halt.set())
    assert isinstance(again, TrainSeries) and [r.epochs for r in again.rows] == [1, 0]
    left = sorted(str(p.relative_to(tmp_path / "all")) for p in (tmp_path / "all").glob("*/*"))
    assert [name for name in left if "-3/" in name] == ["assignment-3/mine.txt"]
    assert not any("best.pt" in name for name in left if "-2/" in name)  # stopped at once


def test_a_search_for_a_code_that_is_stopped_places_nothing(tmp_path: Path) -> None:
    data = toy(tmp_path / "toy.h5", 17)
    halt = threading.Event()
    halt.set()
    for limit in ({"time_limit": 0.01}, {"interrupt": halt}):
        with pytest.raises(DataError, match="fixed:solve': .*stopped.*gnc solve --d 5 --K 17"):
            run(data, tmp_path / "no", head="fixed:solve", feature_dim=5, **limit)
    assert not (tmp_path / "no").exists()


def test_rows_of_other_lengths_are_told(tmp_path: Path) -> None:
    data = toy(tmp_path / "toy.h5")
    for scale, name in ((1.0 + 1e-6, "w.npy"), (2.0, "w.npy, rows scaled to length 1")):
        np.save(tmp_path / "w.npy", SQUARE * np.array([[scale], [1.0], [1.0], [1.0]]))
        result = run(
            data, tmp_path / "run", head=f"fixed:{tmp_path / 'w.npy'}", feature_dim=2, epochs=1,
            force=True,
        )  # fmt: skip
        assert result.head.code == name


def test_memory_that_is_not_enough_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **more: Any) -> None:
        raise error

    data = toy(tmp_path / "toy.h5")
    monkeypatch.setattr(train_run, "open_session", fail)
    error: Exception = MemoryError("Unable to allocate 9 GiB")
    with pytest.raises(UnavailableError, match="memory of the machine is not enough; try"):
        run(data, None)
    error = RuntimeError("shapes differ")
    with pytest.raises(RuntimeError, match="shapes differ"):
        run(data, None)
