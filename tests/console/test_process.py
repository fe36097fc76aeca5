"""The program as a process: start-up, pipes, signals."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gnc_cli
from gnc_cli.cli import app

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
_STAND_IN = ("-m", "tests.console.stand_in")
BASE = ("solve", "--d", "10", "--K", "100")


def _start(mode: str, *args: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *_STAND_IN, mode, *args],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # Under nohup the tests ignore this signal, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=30)
    finally:
        process.kill()


def _wait_for_work(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    assert process.stderr.readline() == "working\n"


def test_help_and_wrong_options_load_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.cli import main\n"
        "wrong = 'solve -d 3 -K 5 --out a.h5 --min x=1 --json --csv'\n"
        "asked = {'--help': 0, 'solve --help': 0, '--version': 0, wrong: 2}\n"
        "for words, code in asked.items():\n"
        "    sys.argv[1:] = words.split()\n"
        "    try: main()\n"
        "    except SystemExit as e: assert e.code == code, words\n"
        "    else: raise AssertionError(words)\n"
        "    heavy = {'torch', 'scipy', 'numpy', 'h5py', 'geoopt', 'matplotlib'}\n"
        "    assert not heavy & set(sys.modules), (words, heavy & set(sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_verbose_version_says_what_a_report_of_a_bug_needs(gnc: Any) -> None:
    first, *lines = gnc("-v", "--version").stdout.splitlines()
    assert first == gnc("--version").stdout.strip() == f"gnc {gnc_cli.__version__}"
    told = {line[:13].strip(): line[13:] for line in lines}
    names = ["Python", "packages", "cores", "memory", "known codes", "icosahedron", "library"]
    assert [name for name in told if name != "GPU"] == names
    assert f"numpy {np.__version__}," in told["packages"] and "missing" not in told["cores"]
    assert re.fullmatch(r"\d{3,} of \d{4}-\d\d, sha256 [0-9a-f]{12}", told["known codes"])
    lower, upper, exact = map(float, re.findall(r"0\.\d+", told["icosahedron"]))
    assert lower <= upper <= lower + 1e-12 and lower - 1e-12 < exact < upper + 1e-12
    assert any(name in "".join(lines).lower() for name in ("blas", "mkl", "accelerate"))
    for private in (platform.node(), str(Path.home()), str(Path.cwd())):
        assert len(private) < 4 or private not in "".join(lines)
    assert [gnc("-v").exit_code, gnc("-v", "solve", "--d", "3", "--K", "4").exit_code] == [2, 2]


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        ("torch", "GPU          unknown: OSError"),
        ("flint", "icosahedron  unknown: OSError"),
        ("METADATA", "GPU          "),
    ],
)
def test_verbose_version_says_what_is_broken(tmp_path: Path, broken: str, line: str) -> None:
    """A package that does not load, or an installation that has lost its METADATA."""
    (tmp_path / f"{broken}.py").write_text("raise OSError('/a/private/folder')\n")
    if broken == "METADATA":
        (tmp_path / "lost-1.0.dist-info").mkdir()
    command = [sys.executable, "-m", "gnc_cli", "--version", "-v"]
    path = os.pathsep.join([str(tmp_path), str(Path(gnc_cli.__file__).parents[1])])
    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert run.returncode == 0 and run.stderr == "", run.stderr
    assert f"\n{line}" in run.stdout and "private" not in run.stdout


def test_module_is_the_program() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "gnc_cli", "solve", "--d", "1", "--K", "2"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert run.stderr == "gnc: --d 1 is too small; give at least 2\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_first_signal_finishes_with_the_best(number: signal.Signals) -> None:
    process = _start("slow", *BASE, "--json")
    _wait_for_work(process)
    process.send_signal(number)
    stdout, stderr = _ended(process)
    assert process.returncode == 130
    assert json.loads(stdout)["outcome"] == "interrupted"
    assert stderr == "gnc: finishing with the best so far; interrupt again to stop at once\n"


def test_second_signal_reaches_a_deaf_main_thread() -> None:
    process = _start("stubborn", *BASE, "-q")
    _wait_for_work(process)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=0.5)
    process.send_signal(signal.SIGINT)
    _ended(process)
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("options", "lines"), [((), 1), (("--json",), 1), (("--jsonl",), 0), (("--csv",), 0)]
)
def test_a_reader_that_left_gets_no_traceback(options: tuple[str, ...], lines: int) -> None:
    """One of rows has seen enough."""
    read, write = os.pipe()
    os.close(read)
    process = _start("prompt", *BASE, *options, stdout=write)
    os.close(write)
    _, stderr = process.communicate()
    assert process.returncode == 3 and len(stderr.splitlines()) == lines, stderr


@pytest.mark.parametrize("words", [("--help",), ("solve", "--help")])
def test_a_help_text_may_be_cut_short(words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run(
        [sys.executable, "-m", "gnc_cli", *words], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("gnc so", ["solve"]),
        ("gnc solve --weight", ["--weight-decay"]),
        ("gnc solve --problem ", ["softmax", "tammes", "ufm", "lines"]),
    ],
)
def test_shell_completion(words: str, offered: list[str]) -> None:
    asked = {
        "_GNC_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    run = CliRunner(env=asked).invoke(app, [], prog_name="gnc")
    assert run.stdout.split() == offered


def _on_terminal(stream: str, *args: str) -> tuple[int, str]:
    """Run with one stream on a pseudo-terminal; the exit code and what appeared there."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, *_STAND_IN, "prompt", *args],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        | {stream: slave},
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(master)
    return process.wait(), seen.decode()


def test_colours_on_a_terminal_unless_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    status, seen = _on_terminal("stdout", *BASE)
    assert status == 0 and "\x1b[1;32mconverged" in seen
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;32m" not in _on_terminal("stdout", *BASE)[1]


def test_progress_shows_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    status, seen = _on_terminal("stderr", *BASE)
    assert status == 0 and "descent" in seen and "0.5" in seen
    assert _on_terminal("stderr", *BASE, "-q") == (0, "")


def test_hdf5_is_never_written_to_a_terminal() -> None:
    assert _on_terminal("stdout", *BASE, "--out", "-")[0] == 2
