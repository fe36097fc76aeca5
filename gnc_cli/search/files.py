"""The file of `solve --out`, written every half minute and at the end, from which calls resume."""

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
    """File of a code: its rows, provenance and seed, and the numbers of starts and tasks done.

    Args:
        path: path of the file; `-` for stdout.
        instance: requested code, with which that of the file must agree.
        seed: seed of the search.
        provenance: entries of the provenance in addition to the instance, the seed and the
            versions of libraries.
        force: True if an existing file may be replaced.
    """

    def __init__(
        self, path: Path, instance: Instance, seed: int, provenance: dict[str, Any], *, force: bool
    ) -> None:
        self._out, self._instance, self._seed, self._force = path, instance, seed, force
        self._entries = provenance
        self._times = SaveTimes()

    def read_start(self) -> tuple[np.ndarray | None, dict[str, int]]:
        """Return the code from which a search continues, and the numbers of its starts and tasks.

        The code has shape (K, d); it is None if the file does not exist. The numbers are empty if
        it has another seed.

        Raises:
            DataError: the file holds no code of this size, or one that was made with other options.
        """
        instance, name = self._instance, os.fspath(self._out)
        if not os.path.exists(name):
            _log.warning("%r does not exist yet; starting without it", name)
            return None, {}
        code = read_code(name)
        identity = code.provenance.get("identity")
        if isinstance(identity, dict):  # absent from codes that no search wrote
            for key, value in instance.identity.items():
                if identity.get(key) != value:
                    old, new = (str(part) or "none" for part in (identity.get(key), value))
                    raise DataError(
                        f"{name!r} was made with {key} = {old}, not {new}; "
                        f"resume with equal options, or use {spelled('force')} to start again"
                    )
        if code.weights.shape != (instance.K, instance.d):
            raise DataError(
                f"{name!r} holds a code of shape {code.weights.shape}, not "
                f"{(instance.K, instance.d)}; use {spelled('force')} to start again"
            )
        state = code.state or {}
        numbers = state if state.get("seed") == self._seed else {}
        return replace_equal_rows(code.weights, self._seed), numbers

    def save(self, make: Callable[[], tuple[np.ndarray, dict[str, int] | None]]) -> None:
        """Write the best code so far if the last save is old enough.

        Args:
            make: function that returns the code, shape (K, d), with the numbers of its search.
        """
        if self._out == "-" or not self._times.due:
            return
        with self._times.saving():
            weights, state = make()
            self._write(CodeFile(weights, provenance=self._provenance, state=state))

    def write(self, sweep: SolveSweep) -> SolveSweep:
        """Write the last code of a sweep, and return the sweep with the name of the file."""
        last, name = sweep.rows[-1], os.fspath(self._out)
        record = (last if sweep.single else sweep).to_json()
        record.pop("out")  # a path belongs to one machine
        provenance = {**self._provenance, "result": record}
        rows = last.weights
        if isinstance(rows, np.ndarray):
            labels = None
            if last.features is not None and len(last.features) != len(rows):
                labels = np.repeat(np.arange(len(rows)), len(last.features) // len(rows))
            state = last.extras.get("state")
            self._write(CodeFile(rows, last.features, labels, provenance=provenance, state=state))
        else:  # too large to hold: rows are made block by block
            write_streamed(self._out, rows.shape, rows.unit, provenance, force=self._force)
        results = (replace(last, out=name),) if sweep.single else sweep.rows
        return replace(sweep, rows=results, out=name)

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
            **self._entries,
        }
