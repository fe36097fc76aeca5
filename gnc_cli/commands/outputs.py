"""Where a result goes: its shape on stdout and its files, checked before the computation."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

from gnc_cli.errors import UsageError

__all__ = ["CODE_SUFFIXES", "Outputs", "Shape"]

CODE_SUFFIXES = (".h5", ".npz", ".npy", ".safetensors", ".pt", ".txt")
_REPORT_SUFFIXES = (".md", ".xml", ".prom")
_PLOT_SUFFIXES = (".png", ".svg", ".pdf")


class Shape(Enum):
    """What stdout carries."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True)
class Outputs:
    """The output options of one command line."""

    shape: Shape = Shape.TABLE
    out: str | None = None
    """Data product; `-` is stdout."""
    report: str | None = None
    plot: str | None = None
    force: bool = False
    resume: bool = False
    quiet: bool = False
    verbose: bool = False

    @classmethod
    def read(
        cls,
        *,
        json: bool = False,
        csv: bool = False,
        jsonl: bool = False,
        out: str | None = None,
        report: str | None = None,
        plot: str | None = None,
        force: bool = False,
        resume: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        suffixes: Sequence[str] = CODE_SUFFIXES,
        resumable: Sequence[str] = (".h5",),
        further: Sequence[tuple[str, str | None, Sequence[str]]] = (),
        growing: Sequence[tuple[str, str | None, Sequence[str]]] = (),
        inputs: Mapping[str, str | Sequence[str] | None] | None = None,
        baseline: str | None = None,
    ) -> "Outputs":
        """Read the options.

        Args:
            suffixes: those that the command's --out understands.
            resumable: those that --resume can go on from.
            further: other files of the command: option, value and the suffixes it understands.
            growing: the same of files that are added to, and may exist.
            inputs: what the command reads, by option; the report may be none of them. Of its own
                outputs the library sees to that.
            baseline: what the gates read; no output may be that.

        Raises:
            UsageError: options that exclude each other, an unknown suffix, a report that is an
                input, or an output that is the baseline or another output.
            OutputError: a file exists without --force, or its folder is missing or not writable.
        """
        asked = [s for s, on in zip(Shape, (False, json, csv, jsonl), strict=True) if on]
        if len(asked) > 1:
            names = " and ".join(f"--{s.value}" for s in asked)
            raise UsageError(f"{names} exclude each other; keep one of them")
        shape = asked[0] if asked else Shape.TABLE
        if quiet and verbose:
            raise UsageError("-q and -v exclude each other; keep one of them")
        if out == "-" and shape is not Shape.TABLE:
            raise UsageError(
                f"--out - and --{shape.value} both want stdout; write --out code.h5 instead"
            )
        if out == "-" and sys.stdout is not None and sys.stdout.isatty():
            raise UsageError("--out - would write HDF5 onto the terminal; pipe or redirect it")
        if resume and (out is None or out == "-"):
            example = "code.h5" if resumable == (".h5",) else f"rows{resumable[0]}"
            raise UsageError(f"--resume goes on from the state in a file; add --out {example}")
        _check_suffix("--out", None if out == "-" else out, suffixes)
        _check_suffix("--report", report, _REPORT_SUFFIXES)
        _check_suffix("--plot", plot, _PLOT_SUFFIXES)
        for option, path, known in (*further, *growing):
            _check_suffix(option, path, known)
        if resume:
            _check_suffix("--resume with --out", out, resumable)
        once = [("--out", None if out == "-" else out), ("--report", report), ("--plot", plot)]
        once += [(option, path) for option, path, _ in further]
        files = {option: path for option, path in once if path is not None}
        added_to = {option: path for option, path, _ in growing if path is not None}
        if files or added_to:
            from gnc_cli.workflows.outputs import check_apart, check_targets

            check_apart({**files, **added_to}, {"--baseline": baseline})
            check_apart({"--report": report}, inputs)
            check_targets([*files.values()], force=force, resume=resume)
            check_targets([*added_to.values()], resume=True)
        return cls(shape, out, report, plot, force, resume, quiet, verbose)


def _check_suffix(option: str, path: str | None, suffixes: Sequence[str]) -> None:
    if path is None:
        return
    if path == "" or PurePath(path).suffix.lower() not in suffixes:
        known = ", ".join(suffixes)
        raise UsageError(f"{option} {path!r} has no known suffix; end it in one of {known}")
