"""Files around a measurement: none in the place of another, none without a row."""

from pathlib import Path

import pytest

from gnc_cli.errors import UsageError
from gnc_cli.workflows.measure_files import prepare_files, write_files
from tests.cli.measure_fakes import row, series


def test_two_outputs_in_one_file_are_refused(tmp_path: Path) -> None:
    same = tmp_path / "s.csv"
    (tmp_path / "link.csv").symlink_to(same)
    for other in (same, str(same), tmp_path / "link.csv"):
        with pytest.raises(UsageError, match="--out and --per-class both write"):
            prepare_files(
                out=same, per_class=other, append=None, plot=None, force=True, read={}
            )


def test_an_interruption_before_the_first_row_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    write_files(series(interrupted=True), out=out, per_class=None, plot=None, force=False)
    assert not out.exists()
    write_files(series(row(), interrupted=True), out=out, per_class=None, plot=None, force=False)
    assert out.exists()
