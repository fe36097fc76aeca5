"""`--no-skips` lets no test pass by skipping, as `.ci/run` asks where everything is installed."""

import subprocess
import sys
from pathlib import Path

from tests.documents import ROOT

SKIPPED = {
    "in_the_test": "def test_x(): pytest.skip('no browser')\n",
    "in_a_fixture": "@pytest.fixture\ndef f(): pytest.skip('no browser')\ndef test_x(f): pass\n",
    "in_the_file": "pytest.importorskip('no_browser')\ndef test_x(): pass\n",
}


def test_a_skip_fails_where_none_is_allowed(tmp_path: Path) -> None:
    for name, text in SKIPPED.items():
        (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{text}")
    pytest_here = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", "/dev/null"]
    asked = ["--no-skips", "--continue-on-collection-errors", tmp_path]
    run = subprocess.run([*pytest_here, *asked], cwd=ROOT, capture_output=True, text=True)
    assert "= 1 failed, 2 errors in " in run.stdout, run.stdout
    assert run.returncode == 1
