"""What only some systems have is used in one module; without it the package can be imported."""

import ast
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import NOT_ON_WINDOWS
from tests.documents import ROOT

STUBS = Path(pytest.importorskip("mypy").__file__).parent / "typeshed" / "stdlib"
"""What each module of Python has on each system, as type checkers know it."""
SYSTEM = ROOT / "gnc_cli/runtime/system.py"
SOURCES = [path for path in sorted((ROOT / "gnc_cli").rglob("*.py")) if path != SYSTEM]


def _defined(body: list[ast.stmt], platform: str) -> Iterator[str]:
    """The names that the body of a stub defines on a system."""
    for node in body:
        if isinstance(node, ast.If):
            test = compile(ast.Expression(node.test), "stub", "eval")
            this = SimpleNamespace(platform=platform, version_info=sys.version_info)
            yield from _defined(node.body if eval(test, {"sys": this}) else node.orelse, platform)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@cache
def _missing(module: str) -> set[str]:
    """The names of a module of Python that Linux has, and not every other system; `*` if all."""
    stub = STUBS / module / "__init__.pyi"
    stub = stub if stub.exists() else STUBS / f"{module}.pyi"
    if not stub.exists():
        return set()
    body = ast.parse(stub.read_text("utf-8")).body
    here, *others = (set(_defined(body, name)) for name in ("linux", "win32", "darwin"))
    lacking = here - set.intersection(*others)
    nothing = any(all(name.startswith("_") for name in other) for other in others)
    return lacking | {"*"} if lacking and nothing else lacking


def _used(path: Path) -> set[str]:
    """What a file uses of what some systems lack: `os.fork`, `fcntl`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if "*" in _missing(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names} & _missing(node.module)
            found |= {f"{node.module}.{name}" for name in names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {f"{node.value.id}.{name}" for name in {node.attr} & _missing(node.value.id)}
    return found


def test_the_stubs_name_what_is_missing() -> None:
    assert {"sched_getaffinity", "preadv", "O_NOFOLLOW", "sysconf", "fork"} <= _missing("os")
    assert {"SIGHUP", "pthread_sigmask"} <= _missing("signal") and "SIGTERM" not in _missing(
        "signal"
    )
    assert all("*" in _missing(name) for name in ("fcntl", "resource", "pwd", "termios"))
    assert not any("*" in _missing(name) for name in ("os", "json", "mmap", "numpy"))
    assert {"fcntl", "resource", "os.preadv"} <= _used(SYSTEM)


def test_one_module_uses_what_only_some_systems_have() -> None:
    used = {str(path.relative_to(ROOT)): names for path in SOURCES if (names := _used(path))}
    assert not used


def test_the_tests_that_windows_cannot_run_are_named() -> None:
    files = (ROOT / "tests").rglob("*.py")
    assert {str(f.relative_to(ROOT / "tests")) for f in files if _used(f)} == {*NOT_ON_WINDOWS}


def _open_calls(path: Path) -> Iterator[tuple[int, bool]]:
    """Line of each call that may open a text, and whether it names the encoding."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        words = [part.value for part in node.args if isinstance(part, ast.Constant)]
        named = any(keyword.arg == "encoding" for keyword in node.keywords)
        if name == "open" and not any("b" in str(word) for word in words[-1:]):
            yield node.lineno, named
        elif name.endswith((".read_text", ".write_text")):
            yield node.lineno, named or {*words} & {"ascii", "utf-8"} != set()


def test_texts_are_read_and_written_in_a_named_encoding() -> None:
    calls = [(str(path.relative_to(ROOT)), *call) for path in SOURCES for call in _open_calls(path)]
    assert len(calls) > 5
    assert [call for call in calls if not call[-1]] == []


WINDOWS = """
    import os, signal, sys
    import h5py, joblib, matplotlib.pyplot, numpy, pydantic, scipy, threadpoolctl, typer
    import geoopt, importlib.metadata, scipy.optimize, socket, tempfile, torch

    for name in MISSING["os"]:
        vars(os).pop(name, None)
    for name in MISSING["signal"]:
        vars(signal).pop(name, None)
    sys.modules["fcntl"] = sys.modules["resource"] = None
    sys.platform = "win32"
    import gnc_cli.runtime.system
    sys.platform = "linux"
    os.readlink = READLINK
    from gnc_cli.cli import app

    def gnc(line):
        try:
            app(line.split(), prog_name="gnc")
        except SystemExit as end:
            assert end.code == 0, (line, end.code)
"""


def _missing_on_windows(module: str) -> set[str]:
    body = ast.parse(
        next(STUBS.glob(f"{module}/__init__.pyi"), STUBS / f"{module}.pyi").read_text()
    )
    return {*_defined(body.body, "linux")} - {*_defined(body.body, "win32")}


@pytest.mark.skipif(sys.platform != "linux", reason="compares with Linux")
def test_the_package_imports_without_what_windows_lacks(tmp_path: Path) -> None:
    """Without the names that Python has on Linux alone."""
    missing = {module: sorted(_missing_on_windows(module)) for module in ("os", "signal")}
    script = f"import os\nREADLINK, MISSING = os.readlink, {missing}\n" + textwrap.dedent(WINDOWS)
    commands = (
        "solve --d 3 --K 6 --out code.h5",
        "measure code.h5 --out rows.jsonl",
        "compare code.h5 --json",
        "bounds --d 3 --K 4..8",
        "train --classes 3 --image-size 16 --width 0.25 --epochs 2 --out run",
    )
    script += "".join(f"gnc({line!r})\n" for line in commands)
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "LOGNAME": "ada"},  # torch asks for it
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "rows.jsonl").read_text().count('"schema"') == 1, run.stderr
