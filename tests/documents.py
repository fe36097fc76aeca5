"""The documents as programs: README and the pages of the site, block by block.

`python -m tests.documents` runs every command whose output is shown and writes the output into the
page, and the tables of `tests/reference.py` too. In a page, an HTML comment above a block says
`not run: WHY`, or `tested with: OPTIONS` for shorter solves and trainings in the tests, or `run as
a whole` for Python without prompts.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"(?:<!-- ([^\n]*?) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COLOURS = {"FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH"}
"""These ask for colours even into a pipe, or set the width of Typer's help."""


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    note: str
    """Of the HTML comment above."""
    span: tuple[int, int]
    """Where its text stands in the page."""

    @property
    def statements(self) -> str:
        """Python without prompts and outputs."""
        if self.note == "run as a whole":
            return self.text
        lines = [line[4:] for line in self.text.splitlines() if line[:4] in (">>> ", "... ")]
        return "\n".join(lines) + "\n"

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """Shell commands with the output shown below each; none of it in a `bash` block."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if self.language == "bash":
                found.append((line, []))
            elif line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line.rstrip())
        return found

    def until(self, place: int) -> tuple[str, ...]:
        """The commands up to this one, which its output hangs on."""
        return tuple(command for command, _ in self.commands[: place + 1])


def blocks(text: str, *languages: str) -> list[Block]:
    """The fenced blocks of a Markdown text in these languages."""
    found = [Block(m[2], m[3], m[1] or "", m.span(3)) for m in _BLOCK.finditer(text)]
    return [block for block in found if block.language in languages]


def runnable(page: Path) -> list[Block]:
    """The blocks of a page that run, in order, in one folder."""
    found = blocks(page.read_text(encoding="utf-8"), "bash", "console", "python")
    return [block for block in found if not block.note.startswith("not run: ")]


def environment() -> dict[str, str]:
    """A plain terminal of 100 columns, with the `gnc` of this interpreter first on the path."""
    clean = {k: v for k, v in os.environ.items() if k not in _COLOURS}
    path = os.pathsep.join([str(Path(sys.executable).parent), clean.get("PATH", "")])
    fixed = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    return clean | fixed | {"PATH": path}


def outputs(block: Block, folder: Path, *, shorter: bool) -> Iterator[tuple[str, list[str], int]]:
    """Run the commands of a block: each with what it printed (both streams) and its exit code.

    `shorter` adds the options of the note above the block to its solves and trainings.
    """
    more = block.note.removeprefix("tested with: ") if shorter else ""
    status = 0
    for command, _ in block.commands:
        added = rf"gnc \1 {more} "
        line = re.sub(r"\bgnc (solve|train) (?!--help)", added, command) if more else command
        status, told = _piped(line.replace("$?", str(status)), folder)
        yield command, told.splitlines(), status


def _piped(line: str, folder: Path) -> tuple[int, str]:
    """Exit code and output, both streams, of commands that read what the one before wrote."""
    worst, told, passed = 0, "", b""
    for stage in re.split(r" \| (?=gnc |python |head |grep )", line):
        run = _in_process if stage.startswith("gnc ") else _in_bash
        status, passed, said = run(stage, folder, passed)
        worst, told = status or worst, told + said
    return worst, told + passed.decode()


def _in_bash(line: str, folder: Path, given: bytes) -> tuple[int, bytes, str]:
    """Exit code, stdout and stderr of what is not `gnc`."""
    run = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment(), input=given, capture_output=True
    )
    return run.returncode, run.stdout, run.stderr.decode()


def _in_process(line: str, folder: Path, given: bytes) -> tuple[int, bytes, str]:
    """The same of a single `gnc ...` or `gnc ... > file`, without its seconds of imports."""
    from gnc_cli.cli import app

    line = line.partition(" #")[0]
    name, *words = shlex.split(line)
    file = ""
    if ">" in words:
        *words, arrow, file = words
        assert arrow == ">", line
    assert name == "gnc" and not {*words} & {"|", ">", "&&", ";"}, line
    plain = {key: environment().get(key) for key in {*os.environ, *environment()}}
    with contextlib.chdir(folder):
        run = CliRunner(env=plain).invoke(app, words, input=given, prog_name="gnc")
    if file:
        (folder / file).write_bytes(run.stdout_bytes)
    return run.exit_code, b"" if file else run.stdout_bytes, run.stderr


def with_outputs(page: Path, folder: Path, shown: dict[tuple[str, ...], str]) -> str:
    """The text of a page with what its commands print today.

    `shown` collects the outputs: a command that several pages show is shown with those of one run,
    since the seconds of two would differ.
    """
    text = page.read_text(encoding="utf-8")
    written: list[tuple[tuple[int, int], str]] = []
    names: dict[str, Any] = {}
    for block in runnable(page):
        if block.language == "python":
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                exec(block.statements, names)
            continue
        body = ""
        for place, (command, told, _) in enumerate(outputs(block, folder, shorter=False)):
            live = "\n".join(line.rstrip() for line in told).strip("\n")
            printed = shown.setdefault(block.until(place), live)
            body += f"$ {command}\n" + (f"{printed}\n" if printed else "")
        if block.language == "console":
            written.append((block.span, body))
    for (start, end), body in reversed(written):
        text = text[:start] + body + text[end:]
    return text


if __name__ == "__main__":
    from tests.reference import with_tables

    chosen = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    shown: dict[tuple[str, ...], str] = {}
    for path in chosen:
        with tempfile.TemporaryDirectory() as name:
            page = with_outputs(path, Path(name), shown)
        path.write_text(with_tables(page), encoding="utf-8")
        print(path.relative_to(ROOT))
