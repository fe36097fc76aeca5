"""The page of trainers: its examples for frameworks run as they stand, one after the other."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.documents import ROOT, blocks

PAGE = ROOT / "docs/guides/trainers.md"
TEXT = PAGE.read_text(encoding="utf-8").partition("## A loop of your own")[0]


@pytest.mark.filterwarnings("ignore")
def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(TEXT, "python"):
        exec(compile(block.text, str(PAGE), "exec"), names)
    assert "measured before layer 2" in capsys.readouterr().out
    result = names["measure_model"](names["network"], names["loader"])
    found = names["metrics"].compute()
    assert found["gnc1"].item() == pytest.approx(result.gnc1, rel=1e-9)
    assert found["accuracy"].item() == result.accuracy
    assert names["collapse"].result.N == 200
    last = names["trainer"].state.log_history
    assert any(math.isfinite(line.get("eval_gnc/gnc1", math.nan)) for line in last)
    assert [*tmp_path.rglob("events.out.tfevents.*")]
