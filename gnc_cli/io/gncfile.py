"""The file format's doorway: check a target early, write a code, read it back with its state."""

import dataclasses
import io
import os
import sys

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.atomic import atomic_file, check_writable
from gnc_cli.io.codefile import CodeFile
from gnc_cli.io.hdf5 import open_hdf5, read_state, write_hdf5
from gnc_cli.io.inputs import open_input
from gnc_cli.io.readers import collect
from gnc_cli.io.stdout import write_stdout
from gnc_cli.io.writers import writer_for

__all__ = ["CodeFile", "check_target", "read_code", "write_code"]


def check_target(
    path: str | os.PathLike[str], *, force: bool = False, resume: bool = False
) -> None:
    """Refuse a target that `write_code` would refuse, before hours are spent on its content.

    Raises:
        UsageError: unknown suffix, or `-` while stdout is a terminal.
        OutputError: no such folder, not writable, or an existing file with neither `force` nor
            `resume`.
    """
    if os.fspath(path) == "-":
        if sys.stdout.isatty():
            raise UsageError("'-' would write HDF5 onto the terminal; pipe it or name a file")
        return
    writer_for(path)
    check_writable(path, force=force, resume=resume)


def write_code(path: str | os.PathLike[str], code: CodeFile, *, force: bool = False) -> None:
    """Write `code` in the format of the path's suffix; `-` is HDF5 on stdout.

    Raises:
        UsageError: see `check_target`.
        OutputError: the file exists without `force`, or cannot be written; nothing has changed.
    """
    check_target(path, force=force)
    if os.fspath(path) == "-":
        with io.BytesIO() as stream:
            write_hdf5(stream, code)
            write_stdout(stream)
        return
    writer = writer_for(path)
    with atomic_file(path, force=force) as file:
        writer(file, code)


def read_code(path: str | os.PathLike[str]) -> CodeFile:
    """A code file that gnc wrote (HDF5), with its solver state; `-` is stdin.

    Raises:
        DataError: missing, truncated, or not a code file of gnc; `read_points` takes other files.
    """
    name = os.fspath(path)
    with open_input(name) as file, open_hdf5(file, name) as (catalogue, h5):
        if "gnc_format" not in catalogue.attrs or catalogue.attrs.get("kind") != "code":
            raise DataError(
                f"{name!r} is no code file of gnc (attributes gnc_format, kind=code); "
                "solve writes one with --out FILE.h5"
            )
        return dataclasses.replace(collect(catalogue), state=read_state(catalogue, h5))
