"""The file of `solve --out`: written every half minute and at the end, and resumed from."""

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.code import CodeFile
from gnc_cli.io.codefile import read_code, write_code, write_streamed
from gnc_cli.parameters import Path, spelled
from gnc_cli.runtime.deadline import SaveTimes
from gnc_cli.search.instance import Instance, replace_equal_rows
from gnc_cli.search.result import SolveSweep

_log = logging.getLogger(__name__)


class OutFile:
    """The file of a code: its rows, its provenance, its seed and the number of tasks done, which
    the file calls starts.

    Args:
        path: of the file; `-` for stdout.
        instance: the code that is sought, which that of the file must be.
        provenance: what the file says of its making, beside the instance, the seed and the
            versions of libraries.
        force: the file that is there may be replaced.
    """

    def __init__(
        self, path: Path, instance: Instance, seed: int, provenance: dict[str, Any], *, force: bool
    ) -> None:
        self._out, self._instance, self._seed, self._force = path, instance, seed, force
        self._made = provenance
        self._times = SaveTimes()

    def read_start(self) -> tuple[np.ndarray | None, int]:
        """Return the code that a search goes on from, if the file exists, and the number of tasks
        that were done with this seed.

        Raises:
            DataError: the file holds no code of this size, or one that was made with other options.
        """
        instance, name = self._instance, os.fspath(self._out)
        if not os.path.exists(name):
            _log.warning("%r does not exist yet; starting anew", name)
            return None, 0
        code = read_code(name)
        identity = code.provenance.get("identity")
        if isinstance(identity, dict):  # else a code that is no result of a search
            for key, value in instance.identity.items():
                if identity.get(key) != value:
                    before, after = (str(part) or "none" for part in (identity.get(key), value))
                    raise DataError(
                        f"{name!r} was made with {key} = {before}, not {after}; "
                        f"resume with equal options, or use {spelled('force')} to start anew"
                    )
        if code.weights.shape != (instance.K, instance.d):
            raise DataError(
                f"{name!r} holds a code of shape {code.weights.shape}, not "
                f"{(instance.K, instance.d)}; use {spelled('force')} to start anew"
            )
        state = code.state or {}
        tasks = max(0, state.get("starts", 0)) if state.get("seed") == self._seed else 0
        return replace_equal_rows(code.weights, self._seed), tasks

    def save(self, make: Callable[[], tuple[np.ndarray, dict[str, int] | None]]) -> None:
        """Write the best so far where it is time, so that a kill loses little."""
        if self._out == "-" or not self._times.due:
            return
        with self._times.saving():
            weights, state = make()
            self._write(CodeFile(weights, provenance=self._provenance, state=state))

    def write(self, sweep: SolveSweep) -> SolveSweep:
        """Write the last code of a sweep, or the only one; returns the sweep naming the file."""
        last, name = sweep.rows[-1], os.fspath(self._out)
        shown = (last if sweep.single else sweep).to_json()
        shown.pop("out")  # a path belongs to one machine
        provenance = {**self._provenance, "result": shown}
        rows = last.weights
        if isinstance(rows, np.ndarray):
            labels = None
            if last.features is not None and len(last.features) != len(rows):
                labels = np.repeat(np.arange(len(rows)), len(last.features) // len(rows))
            state = last.extras.get("state")
            self._write(CodeFile(rows, last.features, labels, provenance=provenance, state=state))
        else:  # made block by block
            write_streamed(self._out, rows.shape, rows.unit, provenance, force=self._force)
        named = (replace(last, out=name),) if sweep.single else sweep.rows
        return replace(sweep, rows=named, out=name)

    def _write(self, code: CodeFile) -> None:
        write_code(self._out, code, force=self._force)
        self._force = True

    @property
    def _provenance(self) -> dict[str, Any]:
        libraries = {name: version(name) for name in ("numpy", "scipy", "torch", "geoopt")}
        return {
            "identity": self._instance.identity,
            "seed": self._seed,
            "libraries": libraries,
            **self._made,
        }
