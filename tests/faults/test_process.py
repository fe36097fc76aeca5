"""The process around a command: streams, limits, surroundings, and what a terminal would obey."""

import os
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import gnc_cli
from gnc_cli import solve
from gnc_cli.console.process import refusal
from gnc_cli.errors import ExitCode
from tests.faults.world import contents, inside, put

ROOT = Path(gnc_cli.__file__).parent.parent
CODE = "1 0\n0 1\n-1 0\n0 -1\n"
SHORT = "bounds --d 3 --K 7"


@dataclass(frozen=True)
class Around:
    """A command in a process of its own; shell words after it say what is closed or full."""

    words: str
    shell: str
    code: int
    said: str
    """Part of stderr, which has one line; nothing where it is empty."""
    surroundings: dict[str, str] = field(default_factory=dict)
    limit: tuple[int, int] | None = None
    """A resource and the most of it."""

    def hold(self) -> None:
        """In the process itself."""
        if self.limit is not None:
            kind, most = self.limit
            resource.setrlimit(kind, (most, most))


def run(case: Around, seconds: float = 120.0) -> subprocess.CompletedProcess[str]:
    surroundings = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    surroundings |= {"PYTHONPATH": str(ROOT), **case.surroundings}
    command = f"exec '{sys.executable}' -m gnc_cli {case.words} {case.shell}"
    return subprocess.run(
        ["bash", "-c", command],
        env=surroundings,
        preexec_fn=case.hold,
        text=True,
        capture_output=True,
        timeout=seconds,
        encoding="utf-8",
        errors="replace",
    )


FULL = "No space left on device"
STREAMS = [
    Around("--help", ">/dev/full", 3, FULL),
    Around("measure - --K 4", "<&-", 3, "stdin is empty"),
    Around(SHORT, ">&-", 3, "it is closed; use --out or --report"),
    Around(SHORT, ">&- 2>&- <&-", 3, ""),
    Around(SHORT, "", 0, "", {"PYTHONIOENCODING": "ascii"}),
]
SURROUNDINGS = [
    Around(
        "solve --d 2 --K 4 --out a.h5",
        "",
        2,
        "SOURCE_DATE_EPOCH is 'abc'",
        {"SOURCE_DATE_EPOCH": "abc"},
    ),
    Around("measure code.txt", "", 0, "", {}, (resource.RLIMIT_NOFILE, 20)),
    Around(SHORT, "", 6, "300 MB of address space", {}, (resource.RLIMIT_AS, 300_000_000)),
    Around(SHORT, "", 2, "SOURCE_DATE_EPOCH is 'abc'", {"SOURCE_DATE_EPOCH": "abc"}),
    Around(
        "solve --d 4 --K 2900 --method descent --steps 1 --out a.h5",
        "",
        6,
        "geoopt needs docstrings",
        {"PYTHONOPTIMIZE": "2"},
    ),
]


def held(case: Around, folder: Path) -> None:
    with inside(folder):
        put("code.txt", CODE)()
        put("matplotlibrc", "text.usetex: True\nsavefig.format: jpg\nfigure.autolayout: True\n")()
        told = run(case)
        assert told.returncode == case.code, (told.stdout[-500:], told.stderr)
        assert case.said in told.stderr and "Traceback" not in told.stderr, told.stderr
        assert told.stderr.count("\n") == bool(case.said), told.stderr
        assert case.code != 6 or not Path("a.h5").exists()
        if case.code == 0 and case.surroundings.get("WORLD_SIZE") and not case.shell:
            assert told.stdout  # alone, whatever a batch system calls it


@pytest.mark.parametrize("case", [*STREAMS, *SURROUNDINGS], ids=str)
def test_the_process_around_a_command(case: Around, tmp_path: Path) -> None:
    held(case, tmp_path)


def test_no_output_takes_the_place_of_a_closed_stdout(tmp_path: Path) -> None:
    """Without a stand-in the first file opened would be number 1, where libraries write."""
    with inside(tmp_path):
        script = "import os, gnc_cli.console.process as c; c.open_streams(); print(os.open('.', 0))"
        shell = f"'{sys.executable}' -c \"{script}\" <&- 2>&-"
        told = subprocess.run(
            ["bash", "-c", shell],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert int(told.stdout) > 2


SHORT_OF_MEMORY = "memory of the machine is not enough"
REFUSED = [
    (
        RuntimeError("[third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer"),
        6,
        "another process of this run has ended",
    ),
    (MemoryError(), 6, SHORT_OF_MEMORY),
    (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), 6, "memory of the GPU is not"),
    (OSError(12, "Cannot allocate memory"), 6, SHORT_OF_MEMORY),
    (ImportError("a.so: failed to map segment from shared object"), 6, SHORT_OF_MEMORY),
    (RuntimeError("can't start new thread"), 6, "no further process or thread may start"),
    (RuntimeError("could not create a primitive"), 6, SHORT_OF_MEMORY),
    (OSError(11, "Resource temporarily unavailable"), 6, "no further process or thread may start"),
    (OSError(24, "Too many open files"), 6, "too many open files"),
    (OSError(23, "Too many open files in system"), 6, "too many open files"),
    (OSError(28, "No space left on device"), 3, "cannot write to stdout: No space"),
    (OSError(27, "File too large", "a.tmp"), 3, "cannot write 'a.tmp': File too large"),
    (OSError(30, "Read-only file system", "a"), 3, "cannot write 'a': Read-only"),
    (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), 3, "TMPDIR"),
    (ModuleNotFoundError(name="torch.nn"), 6, "module torch.nn is missing; pip install torch"),
    (ModuleNotFoundError(name="PIL"), 6, "pip install pillow"),
    (ModuleNotFoundError(name="flint"), 6, "pip install python-flint"),
]


@pytest.mark.parametrize(("error", "code", "said"), REFUSED, ids=str)
def test_what_the_system_refuses_is_no_bug(
    error: Exception, code: int, said: str, gnc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = refusal(error)
    assert found is not None and found.exit_code == code and said in str(found)

    def refused(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("gnc_cli.limits.run.run", refused)
    told = gnc(*SHORT.split())
    assert told.exit_code == code and said in told.stderr and told.stderr.count("\n") == 1


def test_a_bug_stays_one(gnc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("x")

    monkeypatch.setattr("gnc_cli.limits.run.run", broken)
    told = gnc(*SHORT.split())
    assert told.exit_code == ExitCode.BUG and "Traceback" in told.stderr
    assert refusal(ValueError("x")) is None and refusal(PermissionError(13, "no")) is None
    assert refusal(ModuleNotFoundError(name="gnc_cli.x")) is None


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("torch", "measure features.pt"),
        ("torch", "compare features.pt"),
        ("torch", "solve --d 3 --K 4 --out code.pt"),
        ("geoopt", "solve --d 4 --K 2900 --method descent --steps 1"),
        ("matplotlib", "solve --d 3 --K 4 --plot code.png"),
    ],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    package: str, words: str, gnc: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither a bug nor a broken file, and a plot is refused before the search."""
    torch = pytest.importorskip("torch")
    torch.save({"weights": torch.eye(4)}, tmp_path / "features.pt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    told = gnc(*words.split())
    assert told.exit_code == ExitCode.UNAVAILABLE and told.stderr.count("\n") == 1
    assert f"pip install {package}" in told.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["features.pt"]


@pytest.mark.parametrize(
    "words",
    [
        "solve --d 5 --K 11 --method descent --workers 2 --time-limit 2 --json",
        "measure code.h5 --plot a.svg",
    ],
)
def test_modules_of_the_current_folder_are_never_executed(words: str, tmp_path: Path) -> None:
    with inside(tmp_path):
        solve(2, 4, out="code.h5")
        for name in ("joblib", "json", "queue", "typing", "socket", "numpy"):
            put(f"{name}.py", "open('executed', 'w')")()
        told = run(Around(words, "", 0, ""))
        assert told.returncode in (0, 5) and not Path("executed").exists(), told.stderr


ESCAPES = "\x1b[2J\x1b]0;mine\x07\u202e\x9b31m"


def features(name: str, **attrs: str) -> None:
    rng = np.random.default_rng(0)
    with h5py.File("a.h5", "w") as h5:
        for k in range(2):
            group = h5.create_group(f"snapshots/{name}{k}")
            group.attrs.update({"epoch": k, **attrs})
            group["features"] = rng.normal(size=(40, 3))
            group["labels"] = np.arange(40) % 4
            group["weights"] = rng.normal(size=(4, 3))
        h5[f"other{name}"] = np.zeros(3)


@pytest.mark.parametrize(
    "words",
    [
        "measure a.h5",
        "measure a.h5 -v",
        "measure a.h5:none",
        "compare a.h5",
        "measure a.h5 --select split=none",
        "measure a.h5 --report r.md",
        "measure a.h5 --class-names names.txt --duplicates -0.9 -v",
        "measure --weights a.h5",
        "measure a.h5:snapshots/x{} -v",
        "solve --d 2 --K 4 --init a.h5",
        "train --data h5:a.h5",
    ],
)
def test_names_from_files_do_not_speak_to_the_terminal(
    words: str, gnc: Any, tmp_path: Path
) -> None:
    with inside(tmp_path):
        features(f"x{ESCAPES}", split=f"test{ESCAPES}", layer=ESCAPES)
        put("names.txt", "".join(f"n{k}{ESCAPES}\n" for k in range(4)))()
        told = gnc(*words.split())
        report = Path("r.md").read_text() if Path("r.md").exists() else ""
        for text in (told.stdout, told.stderr, report):
            assert not set("\x1b\x07\x9b\u202e") & {*text}, text
        assert told.exit_code != ExitCode.BUG, told.stderr


def test_a_users_own_settings_of_matplotlib_do_no_harm(tmp_path: Path) -> None:
    import matplotlib

    from gnc_cli.console.drawing import styled

    with matplotlib.rc_context({"text.usetex": True, "font.family": ["serif"]}), styled():
        assert not matplotlib.rcParams["text.usetex"]
        assert matplotlib.rcParams["font.family"] == ["serif"]
    with inside(tmp_path), matplotlib.rc_context({"text.usetex": True}):
        solve(2, 4, plot="a.svg")
        assert set(contents()) == {"a.svg"}


def test_names_that_are_not_utf_8(gnc: Any, tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff.h5")
    with inside(tmp_path):
        solve(2, 4, out=name)
        assert gnc("measure", name, "--out", f"rows{name}").exit_code == 0
        with h5py.File(f"rows{name}") as h5:
            assert h5["rows/file"][0] == b"a\\udcff.h5"


@pytest.mark.parametrize("words", ["solve --d 2 --K 4", "measure a.txt", "bounds --d 3 --K 7"])
def test_settings_of_matplotlib_in_the_current_folder_are_not_read(
    words: str, tmp_path: Path
) -> None:
    with inside(tmp_path):
        put("a.txt", "1 0\n0 1\n-1 0\n")()
        put("matplotlibrc", b"\xff\xfe")()
        process = run(Around(f"{words} -q --plot a.svg", "", 0, ""))
        assert (process.returncode, process.stderr) == (0, "")
