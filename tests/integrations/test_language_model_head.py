"""The page of a language model's head: its model is trained, saved and measured as it stands."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.documents import ROOT, blocks, outputs

PAGE = ROOT / "docs/guides/language-model-head.md"
TEXT = PAGE.read_text(encoding="utf-8")


def _words(text: str) -> list[str]:
    """Return the first word or two of each line: those of the table are the same on any machine."""
    return [re.split(r"\s{2,}| K =", line.strip())[0] for line in text.strip().splitlines()]


@pytest.mark.filterwarnings("ignore")
def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [block.text for block in blocks(TEXT, "text")]
    names: dict[str, Any] = {}
    printed = []
    for block in blocks(TEXT, "python", "bash"):
        if block.language == "python":
            exec(compile(block.text, str(PAGE), "exec"), names)
            printed.append(capsys.readouterr().out)
            continue
        for command, told, status in outputs(block, tmp_path, shorter=False):
            assert status == 0, f"{command}\n{told}"
            printed.append("\n".join(line for line in told if not line.startswith("gnc: warning")))
    _, _, all_tokens, seen, strata, parts = printed
    for ours, theirs in zip(shown, (all_tokens, strata, parts), strict=True):
        assert _words(ours) == _words(theirs)
    assert "29 without samples" in all_tokens and "K = 483" in seen
    assert names["tokens"]["name"].str.startswith("Ġ").sum() > 100
    means = names["strata"][["spread", "accuracy", "one_vs_rest_lower"]].mean()
    assert (means["accuracy"].diff()[1:] > 0).all()
    assert (means["one_vs_rest_lower"].diff()[1:] > 0).all()
