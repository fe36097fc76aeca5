"""The kept inputs of `benchmarks.faults.fuzz`: every reader gives a result, or refuses by name."""

import contextlib
from pathlib import Path

import pytest

from benchmarks.faults import fuzz
from benchmarks.faults.fuzz_targets import REFUSALS, TARGETS

CORPUS = Path(__file__).parent / "corpus"
HELD = sorted(path for path in CORPUS.rglob("*") if path.is_file())


def test_every_target_has_a_corpus_and_all_are_small() -> None:
    assert {path.parent.name for path in HELD} == {*fuzz.TARGETS} == {*TARGETS}
    assert sum(path.stat().st_size for path in HELD) < 200_000


@pytest.mark.parametrize("target", TARGETS)
def test_kept_inputs_are_read_or_refused(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in HELD:
        if path.parent.name == target:
            name = tmp_path / TARGETS[target].file
            for reader in TARGETS[target].readers:
                name.write_bytes(path.read_bytes())
                with contextlib.suppress(*REFUSALS):
                    reader(str(name))
