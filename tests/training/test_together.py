"""`train` in two real processes over gloo: what one process does, in one run folder."""

import json
from pathlib import Path

import pytest

from gnc_cli import measure
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.training.api import train
from tests.runtime.together import needs_gloo, together
from tests.training.problems import TINY, toy

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
@pytest.mark.slow  # networks/test_parallel.py trains in two, test_train_agreement.py runs in two
def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    data = toy(tmp_path / "toy.h5", each=25)  # 100 rows in 4 batches, 50 rows a process
    asked = {
        "model": TINY, "feature_dim": 3, "batch_size": 26, "lr": 0.01, "tau": 0.3, "seed": 1,
        "schedule": "constant", "augment": ["crop", "rotate"], "measure_every": 1,
        "device": "cpu", "threads": 1,
    }  # fmt: skip
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
        name = f"{tmp_path / head}/snapshots.h5:snapshots/epoch-0004-train"
        found = measure(name)
        assert isinstance(found, MeasureResult)
        assert found.gnc1 == pytest.approx(history[-1]["gnc1"], abs=1e-9)
        assert found.accuracy == history[-1]["train_accuracy"]
