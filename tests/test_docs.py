"""The documents keep their word: README runs, its tables equal the code, and all speak plainly."""

import ast
import doctest
import hashlib
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import gnc_cli
from gnc_cli import schemas
from gnc_cli.cli import app
from gnc_cli.errors import ExitCode
from tests.readme import README, Block, blocks, environment, live_help

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")
DOCUMENTS = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "Makefile",
    "docs/cookbook.md", "docs/theorem.md",
    "constraints.txt", "pyproject.toml", "data/known_codes/SOURCES.md", ".ci/run",
]  # fmt: skip

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_EXACT = ("one-vs-rest distance", "one-vs-one distance", "largest cosine")
"""Rows of a solve whose numbers any machine finds; the others hang on rounding and speed."""
_MEASURED = "gnc measure run.h5"
"""Its example is made from a code of fixed coordinates, so any machine finds every digit shown."""


_FILES = re.compile(r"[\w-]+(?=/)|[\w-]+\.(?:h5|csv|jsonl?|npy|txt)\b|(?<=--out )[\w.-]+")


def _chapters() -> list[list[Block]]:
    """The blocks that run, in order; those that name the same file stand together."""
    order = [
        block
        for block in blocks(TEXT, "bash", "console", "python")
        if not block.note.startswith("not run: ") and "--help" not in block.text
    ]
    chapters: list[tuple[set[str], list[Block]]] = []
    for block in order:
        files, together = set(_FILES.findall(block.text)), [block]
        for chapter in [c for c in chapters if c[0] & files]:
            chapters.remove(chapter)
            files, together = chapter[0] | files, chapter[1] + together
        chapters.append((files, sorted(together, key=order.index)))
    return [together for _, together in chapters]


@pytest.mark.parametrize("chapter", _chapters(), ids=lambda c: c[0].text.strip()[:60])
def test_readme_runs(
    chapter: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in chapter:
        if block.language == "python":
            _run_python(block)
        else:
            _run_shell(block, tmp_path)


def test_every_block_is_in_a_language_that_runs() -> None:
    assert len(blocks(TEXT, "bash", "console", "python")) == TEXT.count("```") // 2


def _run_python(block: Block) -> None:
    told: list[str] = []
    example = doctest.DocTestParser().get_doctest(block.text, {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example, out=told.append).failed == 0, "".join(told)


def _run_shell(block: Block, folder: Path) -> None:
    """Each command as written, plus what the note above the block adds to keep it short."""
    more = block.note.removeprefix("tested with: ") if block.note else ""
    status = 0
    for number, (command, shown) in enumerate(block.commands):
        added = rf"gnc \1 {more} "
        line = re.sub(r"\bgnc (solve|train) (?!--help)", added, command) if more else command
        asks = line == "echo $?"
        status, told = _piped(line.replace("$?", str(status)), folder)
        following = [c for c, _ in block.commands[number + 1 : number + 2]]
        assert asks or status == 0 or following == ["echo $?"], f"{line}\n{told}"
        if shown:
            _agree(shown, told.splitlines(), every_digit=command.startswith(_MEASURED))


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
    name, *words = shlex.split(line)
    file = ""
    if ">" in words:
        *words, arrow, file = words
        assert arrow == ">", line
    assert name == "gnc" and not {*words} & {"|", ">", "&&", ";"}, line
    plain = {key: environment().get(key) for key in {*os.environ, *environment()}}
    run = CliRunner(env=plain).invoke(app, words, input=given, prog_name="gnc")
    if file:
        (folder / file).write_bytes(run.stdout_bytes)
    return run.exit_code, b"" if file else run.stdout_bytes, run.stderr


def _agree(shown: list[str], live: list[str], *, every_digit: bool = False) -> None:
    """The same words, and the same numbers where numbers do not hang on the machine."""
    shown, live = _without_blank_ends(shown), _without_blank_ends(live)
    if every_digit:
        assert [_without_bracket(line) for line in shown] == [_without_bracket(s) for s in live]
        return
    assert [_words(line) for line in shown] == [_words(line) for line in live]
    for ours, theirs in zip(shown, live, strict=True):
        if ours.startswith(_EXACT):
            pasted, found = (float(re.findall(_NUMBER, line)[0]) for line in (ours, theirs))
            assert found == pytest.approx(pasted, abs=1e-9), ours


def _without_blank_ends(lines: list[str]) -> list[str]:
    return "\n".join(line.rstrip() for line in lines).strip("\n").splitlines()


def _without_bracket(line: str) -> str:
    """The line without the width of a certificate, which is rounding error."""
    return re.sub(f"bracket {_NUMBER}", "bracket", line)


def _words(line: str) -> str:
    """The first cell of a table's row, or a whole sentence; numbers as `#`."""
    return re.sub(_NUMBER, "#", re.split(r"\s{2,}", line.strip())[0])


def _commands() -> list[tuple[str, Any]]:
    group: Any = typer.main.get_command(app)
    return list(group.commands.items())


@pytest.mark.parametrize("name", [name for name, _ in _commands()])
def test_help_equals_readme(name: str) -> None:
    shown = {c: output for block in blocks(TEXT, "console") for c, output in block.commands}
    assert shown[f"gnc {name} --help"] == live_help(f"gnc {name} --help"), "run `make docs`"


def test_every_command_and_option_has_help() -> None:
    for name, command in _commands():
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.opts}"
            assert parameter.help.endswith("."), f"{name} {parameter.opts}"


def test_exit_codes_equal_the_enum() -> None:
    table = re.findall(r"^\| (\d+) \| (.+) \|$", TEXT, re.MULTILINE)
    expected = []
    for code, said in zip(ExitCode, _docstrings_of("errors.py", "ExitCode"), strict=True):
        for other in ExitCode:
            said = said.replace(other.name, str(other.value))
        expected.append((str(code.value), said))
    assert table == expected


def _docstrings_of(file: str, name: str) -> list[str]:
    tree = ast.parse((ROOT / "gnc_cli" / file).read_text(encoding="utf-8"))
    (found,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    strings = [s.value for s in found.body if isinstance(s, ast.Expr)]
    return [str(s.value) for s in strings[1:] if isinstance(s, ast.Constant)]


@pytest.mark.parametrize("command", schemas.RESULTS)
def test_every_json_key_is_explained(command: str) -> None:
    schema = schemas.load(command)
    shape = schema["$defs"].get("row") or schema["anyOf"][0]
    # Of a result that has rows alone, the keys of its rows.
    rows = shape["properties"].get("rows", {}).get("items", {}).get("anyOf", [])
    shapes = [schema["$defs"][r["$ref"].rpartition("/")[2]] for r in rows] or [shape]
    head = {"schema", "command", "version", "seconds"}
    keys = {key for s in shapes for key in s["properties"]} - head - {"problem", "d", "K", "out"}
    lines = re.findall(r"^\| (`.+?) \|", TEXT, re.MULTILINE)
    named = {key for line in lines for key in re.findall(r"`(\w+)`", line)}
    assert keys <= named, keys - named


def test_changelog_has_unreleased_on_top() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", h) for h in headings[1:])


def test_citation_names_this_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {gnc_cli.__version__}\n" in text
    assert "10.48550/arXiv.2310.05351" in text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_speak_of_the_project_alone(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    machine = r"/(?:work|root|tmp|home|opt)/"
    registry = r"\b(?:pypi|anaconda)\.org|pythonhosted|download\.pytorch"
    assert not re.findall(f"{machine}|{registry}", text)


def test_documents_link_to_files_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_known_codes_match_their_birth_certificate() -> None:
    folder = ROOT / "data/known_codes"
    table = (folder / "table.csv").read_bytes()
    certificate = (folder / "SOURCES.md").read_text(encoding="utf-8")
    assert hashlib.sha256(table).hexdigest() in certificate
    header, *rows = table.decode().splitlines()
    assert header == "d,K,max_cosine,proven,rattlers,contacts,source"
    assert f"rows    {len(rows)}\n" in certificate
