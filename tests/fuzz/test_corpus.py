"""The kept inputs of `benchmarks.fuzz`: every reader gives a result, or refuses by name."""

import contextlib
from pathlib import Path

import pytest

from benchmarks import fuzz
from benchmarks.fuzz_targets import REFUSALS, TARGETS

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


def test_the_report_says_what_was_found_and_what_is_left() -> None:
    find = {"count": 3, "said": "oh", "inputs": ["a", "b"]}
    row = {
        "target": "npy",
        "engine": "atheris",
        "corpus": 7,
        "executions": 1000,
        "cpu": 90.0,
        "peak_mb": 320.0,
        "slowest": 0.5,
        "finds": {"ValueError in io/array_files.py:npy": find},
    }
    crash = {"SIGSEGV in io/hdf5.py:_walk": {**find, "inputs": ["c"]}}
    other = {**row, "finds": crash, "peak_mb": 330.0}
    made = {**other, "finds": {}, "engine": "hand", "executions": 60, "corpus": 0}

    def today(target: str, names: list[str]) -> str:
        return "SIGSEGV in io/hdf5.py:_walk" if names == ["c"] else f"{names}"

    left = fuzz.section([row, other, made], "a machine", today)
    assert "| npy | 2 | 3.0 | 2,000 | 60 | 7 | 1 | 1 | 1 | 330 | 0.50 |" in left
    assert "| npy | ValueError in io/array_files.py:npy | 3 | ['a', 'b'] |" in left
    assert "| 3 | mended |" in fuzz.section([row], "a machine", lambda target, name: None)
