"""Scalars of a training run as TensorBoard reads them."""

import contextlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnc_cli.errors import OutputError

_NAME = "events.out.tfevents."


class EventFile:
    """A file of scalars that a session of a run writes; a resumed run begins another.

    Its name holds the step that the session begins after, and not the machine's name, which
    TensorBoard's own writer puts there.

    Args:
        folder: of the run.
        after: the last step (of `gnc train`: epoch) that is done. Files of later sessions are
            removed, and TensorBoard forgets later scalars of earlier ones.

    Raises:
        OutputError: the file cannot be written.
    """

    def __init__(self, folder: str, after: int) -> None:
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._path = Path(folder, f"{_NAME}{after:08d}")
        with self._errors():
            for number, path in event_files(Path(folder)).items():
                if number >= after:
                    path.unlink()
            self._file = open(self._path, "xb")
        self._records = RecordWriter(self._file)
        self._write(0, file_version="brain.Event:2")
        self._write(after + 1, session_log=SessionLog(status=SessionLog.START))

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """Scalars by name, in the file when this returns. Raises OutputError."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._write(step, summary=Summary(value=values))

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(OSError):  # a full disk: `add` said so
            self._file.close()

    def _write(self, step: int, **what: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        with self._errors():
            self._records.write(Event(wall_time=time.time(), step=step, **what).SerializeToString())
            self._file.flush()

    @contextlib.contextmanager
    def _errors(self) -> Any:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"cannot write {os.fspath(self._path)!r}: {reason}") from error


def event_files(folder: Path) -> dict[int, Path]:
    """The files of a run's sessions, by the step that each begins after; the files of other
    programs, whose names end otherwise, are left out."""
    files = folder.glob(f"{_NAME}*")
    named = {path: path.name.removeprefix(_NAME) for path in files}
    by_step = {int(n): path for path, n in named.items() if re.fullmatch(r"\d{8}", n)}
    return dict(sorted(by_step.items()))
