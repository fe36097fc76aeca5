"""`compare --export`: each code as plain files for other programs, in a folder of its own."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from gnc_cli.codes.digits import Digits
from gnc_cli.codes.fingerprints import distribution
from gnc_cli.codes.rational import rounded_coordinates
from gnc_cli.errors import UsageError
from gnc_cli.io.export import check_export, export_code
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.workflows.compare_codes import Code, Judged

__all__ = ["export_folders", "exported"]

_MOST_VALUES = 10_000
"""Different inner products that are worth a line each."""
_MOST_ROWS = 3000
"""Up to this many rows the coordinates are proved as they are printed."""
_DECIMALS = 16
"""Of coordinates that are known as float64."""


def export_folders(
    export: str | os.PathLike[str], codes: Sequence[Code], *, force: bool
) -> list[Path]:
    """Where each code goes: `export` itself, or for several a folder in it by the file's name.

    Raises:
        UsageError: two files have one name.
        OutputError: what is there already would be written over without `force`.
    """
    if len(codes) == 1:
        return [check_export(export, force=force)]
    names = [_name(code.file, at) for at, code in enumerate(codes, start=1)]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"--export would put two codes into {os.path.join(export, name)!r}; "
                "rename one of the files, or export them one by one"
            )
    # The folder of all comes first: is it a folder, or can it become one?
    check_export(export, force=True)
    return [check_export(Path(export, name), force=force) for name in names]


def exported(
    code: Judged, polished: Digits | None, folder: Path, deadline: Deadline, *, force: bool
) -> dict[str, Any]:
    """Write the files; returns the keys `exported` and `left_out` of a row.

    Up to `_MOST_ROWS` rows the coordinates are rounded to decimals, and a cosine is proved of these
    very decimals. Beyond, they are float64 to the last bit.

    Args:
        code: measured already.
        polished: its coordinates to many digits, where there are any.
        folder: from `export_folders`.
        deadline: where it comes first, the distribution or the proof is left out.
        force: replace files that are there.

    Raises:
        OutputError: a file cannot be written.
    """
    try:
        found = distribution(code.weights, most=_MOST_VALUES, deadline=deadline)
    except TimeoutError:
        found = None
    texts = None if polished is None else polished.coordinates()
    written = None
    if len(code.weights) <= _MOST_ROWS:
        decimals = _DECIMALS if texts is None else len(texts[0][0].partition(".")[2])
        with contextlib.suppress(TimeoutError):
            written = rounded_coordinates(
                code.weights if texts is None else texts, decimals,
                cosine_decimals=max(1, decimals - 1), deadline=deadline,
            )  # fmt: skip
    done = export_code(
        folder,
        code.weights,
        code.contact_pairs,
        None if found is None else (found.values, found.pairs),
        coordinates=texts if written is None else written.rows,
        cosine=None if written is None else written.cosine.text,
        tight=written is not None and written.cosine.tight,
        force=force,
    )
    return {"exported": list(done.files), "left_out": list(done.left_out)}


def _name(file: str | None, at: int) -> str:
    """`run/snub.h5:W` gives `snub`."""
    if file in (None, "-"):
        return f"code-{at}"
    assert file is not None
    return PurePath(PurePath(file).name.partition(":")[0]).stem or f"code-{at}"
