"""One suite for any device: `pytest --device cuda`. Random numbers come from one seeded stream.

Tests marked slow wait for `pytest --slow`: what a faster test covers in small, in full. It also
tries laws on eight times as many examples. With `--no-skips` a test that skips fails. Certificates
that a test has gnc write must satisfy `plain_verifier` as well, or it fails.
"""

import gzip
import json
import os
import sys
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

# Before anything loads a BLAS: two workers with two threads each wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings
from typer.testing import CliRunner

from tests import plain_verifier

# No test reads a clock: the machine may be busy.
settings.register_profile("gnc", deadline=None, max_examples=25)
settings.register_profile("slow", deadline=None, max_examples=200)
settings.load_profile("gnc")


NOT_ON_WINDOWS = (
    "console/stand_in.py",
    "console/test_process.py",
    "faults/test_disk.py",
    "faults/test_inputs.py",
    "faults/test_outputs.py",
    "faults/test_process.py",
    "faults/forked.py",
    "faults/sequences.py",
    "faults/test_records.py",
    "faults/test_sequences.py",
    "faults/test_signals.py",
    "io/test_atomic.py",
    "io/test_formats.py",
    "runtime/tasks.py",
    "runtime/test_parallel.py",
    "runtime/together.py",
)
"""Tests of signals, limits and file systems, which need what Windows has not."""
collect_ignore = [*NOT_ON_WINDOWS] if sys.platform == "win32" else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="torch device of the tests that use one")
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption("--no-skips", action="store_true", help="a test that skips fails")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--slow"):
        settings.load_profile("slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)


def _without_skip(report: Any, config: pytest.Config) -> Any:
    if report.skipped and config.getoption("--no-skips"):
        report.outcome, report.longrepr = "failed", f"--no-skips: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    return _without_skip((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    return _without_skip((yield), collector.config)


class Certificates:
    """The certificates that take their names in this process, as every file of gnc does."""

    def __init__(self) -> None:
        self.checked: dict[bytes, str] = {}
        """What each proves, by its bytes."""
        self.wrong: list[str] = []
        self._replace = os.replace

    def replace(self, old: Any, new: Any, **options: Any) -> None:
        """Rename a file, and check it if it is a certificate."""
        self._replace(old, new, **options)
        path = Path(new)
        content = path.read_bytes() if path.is_file() and path.stat().st_size < 1 << 20 else b""
        if content not in self.checked and _is_certificate(content):
            place = path.parent if path.name == "verified.txt" else path
            try:
                self.checked[content] = plain_verifier.claim_of(str(place))
            except plain_verifier.PROVES_NOTHING as error:
                self.wrong.append(f"{new}: {error}")


def _is_certificate(content: bytes) -> bool:
    """Whether it is an upper end, or the lower end of a code of at most a hundred points."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return False
    if b"sha256_of_coordinates" in content:
        return int(content.partition(b"\npoints ")[2].split()[0]) <= 100
    if b'"kind": "local-optimum"' in content[:100]:
        document = json.loads(content)
        return int(document["d"] * document["K"]) <= 200
    return content.startswith(b'{"certificate": "gnc/1"')


@pytest.fixture(scope="session")
def _all_certificates() -> Generator[Certificates]:
    found = Certificates()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", found.replace)
        yield found


@pytest.fixture(autouse=True)
def certificates(_all_certificates: Certificates) -> Generator[Certificates]:
    """Those of this process; a test that has one written which proves nothing fails."""
    _all_certificates.wrong.clear()
    yield _all_certificates
    assert not _all_certificates.wrong


@pytest.fixture
def device(request: pytest.FixtureRequest) -> str:
    """Name of the torch device asked for; the test skips where it is missing."""
    name = str(request.config.getoption("--device"))
    if name != "cpu":
        from gnc_cli.errors import UnavailableError
        from gnc_cli.runtime.threads import resolve_device

        try:
            resolve_device(name)
        except UnavailableError as error:
            pytest.skip(str(error))
    return name


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that starts the same in every test."""
    return np.random.default_rng(20231009)


@pytest.fixture
def gnc() -> Callable[..., Any]:
    """`gnc("solve", "--d", "3")` returns exit_code, stdout and stderr."""
    from gnc_cli.cli import app

    return runner(app)


def runner(app: Any) -> Callable[..., Any]:
    """Runs a program in this process, 100 columns wide."""
    plain = {"COLUMNS": "100", "NO_COLOR": None, "FORCE_COLOR": None}

    def run(*args: Any, **more: Any) -> Any:
        return CliRunner(env=plain).invoke(app, [str(a) for a in args], prog_name="gnc", **more)

    return run
