"""The workflow of the CI tutorial, run line by line beside a small project."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documents import ROOT, Block, blocks, outputs

PAGE = (ROOT / "docs/tutorials/ci.md").read_text(encoding="utf-8")
SCRIPT = next(b for b in blocks(PAGE, "python") if "export_features.py" in b.note)
BASELINE = next(b for b in blocks(PAGE, "bash") if "baseline.json" in b.text)
STEPS: list[dict[str, Any]] = yaml.safe_load(blocks(PAGE, "yaml")[0].text)["jobs"]["gate"]["steps"]
LINES = [step["run"] for step in STEPS if "run" in step]

PROJECT = """
from collections import OrderedDict
import torch

def load_model(checkpoint):
    head = torch.nn.Linear(3, 4, bias=False)
    head.weight.data = torch.load(checkpoint)
    return torch.nn.Sequential(OrderedDict(head=head))

def training_loader():
    simplex = torch.tensor([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    noise = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))
    for k in range(4):
        yield simplex[k] + 0.1 * noise[k], torch.full((5,), k)
"""


def _run(block: Block, folder: Path) -> list[int]:
    return [status for _, _, status in outputs(block, folder, shorter=False)]


def test_what_a_step_uses_is_there() -> None:
    checkouts = [step.get("with", {}) for step in STEPS if "checkout@" in step.get("uses", "")]
    assert [step.get("path", ".") for step in checkouts] == [".", "gnc"]
    (install,) = (line for line in LINES if line.startswith("pip install"))
    for word in install.split()[2:]:
        assert word == "-c" or (ROOT / word.removeprefix("./").replace("gnc", ".", 1)).exists()


def test_the_gate_passes_a_good_checkpoint_and_stops_a_bad_one(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    (tmp_path / "my_project.py").write_text(PROJECT)
    (tmp_path / "export_features.py").write_text(SCRIPT.text)
    simplex = torch.tensor([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    torch.save(simplex, tmp_path / "model.pt")
    assert _run(BASELINE, tmp_path) == [0, 0]
    lines = [line for line in LINES if line.startswith(("python ", "gnc "))]
    job = Block("bash", "\n".join(lines), "", (0, 0))
    assert _run(job, tmp_path) == [0, 0]
    report = (tmp_path / "collapse.md").read_text()
    assert "GNC2" in report
    assert json.loads((tmp_path / "collapse.json").read_text())["gnc2_ratio"] > 0.99

    bad = simplex.clone()
    bad[3] = bad[2] + 0.01
    torch.save(bad, tmp_path / "model.pt")
    (tmp_path / "collapse.md").unlink()
    assert _run(job, tmp_path) == [0, 5]
    assert (tmp_path / "collapse.md").exists()
