"""The table's columns: a command, what is done to the world before it, its exit code and words."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gnc_cli.cli import app
from tests.conftest import runner

Done = Callable[[], Any]
"""What is done to the world, in the case's own folder."""


@dataclass(frozen=True)
class Case:
    """One hostile case; it may change no file."""

    words: str
    """The command line behind `gnc`."""
    done: Done
    """What is done to the world before."""
    code: int
    """The exit code."""
    said: str
    """Part of the one line on stderr."""


def check(case: Case) -> None:
    """Run a case in the current folder; one line, the right code, every file as it was."""
    case.done()
    before = contents()
    told = runner(app)(*case.words.split())
    assert told.exit_code == case.code, (told.exit_code, told.stderr, told.exception)
    assert told.stderr.count("\n") == 1 and case.said in told.stderr, told.stderr
    assert contents() == before


def contents() -> dict[str, Any]:
    """Every file below the current folder; links by their targets, what is large by its size."""
    found: dict[str, Any] = {}
    for place, folders, names in os.walk("."):
        for name in (*names, *folders):
            path = Path(place, name)
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            else:
                small = path.is_file() and path.stat().st_size < 1 << 24
                found[str(path)] = path.read_bytes() if small else path.stat().st_size
    return found


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """With `folder` as the current one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def put(path: str, content: str | bytes) -> Done:
    """Write a file."""
    data = content.encode() if isinstance(content, str) else content
    return lambda: Path(path).write_bytes(data)


def edited(path: str, change: Callable[[Any], Any], line: int = -1) -> Done:
    """Change the JSON object of a line, by default the last; the object is changed in place."""

    def done() -> None:
        lines = Path(path).read_text().splitlines()
        value = json.loads(lines[line])
        change(value)
        lines[line] = json.dumps(value)
        Path(path).write_text("\n".join(lines) + "\n")

    return done


def at(key: str, value: Any) -> Callable[[Any], None]:
    """Put `value` under a dotted key; `...` removes the key."""

    def change(whole: Any) -> None:
        *way, last = key.split(".")
        for part in way:
            whole = whole[int(part) if isinstance(whole, list) else part]
        if value is ...:
            del whole[last]
        else:
            whole[int(last) if isinstance(whole, list) else last] = value

    return change
