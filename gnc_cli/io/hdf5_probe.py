"""A process of its own reads an HDF5 file before this one does.

Some damaged files crash the HDF5 library, and the program with it; others keep it busy for minutes.
So a helper process lists the file first and reads the ends of its datasets. One helper serves all
files; it runs apart from this process's folder, terminal and environment, leaves when this process
ends, and comes back where a file has cost its life.
"""

import atexit
import contextlib
import hashlib
import io
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any, cast

import gnc_cli
from gnc_cli.errors import DataError
from gnc_cli.io.atomic import WRITTEN, identity

LISTING_SECONDS = 5.0
"""Processor time for listing a file; a slow disk or a busy machine takes none of it."""
_OBJECT_SECONDS = 2e-3
"""More of it for each group and dataset; an honest one takes a sixth."""
_ENDS_SECONDS = 0.3
"""For the ends of the datasets, by the clock. What takes longer is slow, which is no fault."""
_START_SECONDS = 60.0
"""For loading the HDF5 library; a machine so busy reads its files unprobed."""
_IDLE_SECONDS = 60.0
"""An idle helper leaves after these."""
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)
_DONE = b"."
_ADVICE = "make it anew, or get it from a place you trust"
_START = (
    "import sys; sys.path[:] = {path!r}; from gnc_cli.io.hdf5_probe import serve; serve({seconds})"
)

_log = logging.getLogger(__name__)


class _Helper:
    """The helper process, where there is one, and what it has read."""

    def __init__(self) -> None:
        self.known: set[Any] = set()
        """Files that it got through, by `identity` or digest."""
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._ready = False
        """It has loaded the HDF5 library."""
        self._unfit = False
        """It cannot load the HDF5 library."""

    def start(self) -> None:
        """Start it, unless it runs; OSError where this system allows no further process."""
        with self._lock:
            if self._unfit:
                raise OSError("the helper process cannot load the HDF5 library")
            if self._process is not None and self._process.poll() is None:
                return
            self.end()
            ours, its = socket.socketpair()
            path = [os.path.abspath(place) for place in sys.path if place]
            path.append(str(Path(gnc_cli.__file__).parent.parent))
            try:
                with its:
                    # Its own group: Ctrl-C at the terminal is for this process to hear.
                    code = _START.format(path=path, seconds=LISTING_SECONDS)
                    self._process = subprocess.Popen(
                        [sys.executable, "-I", "-S", "-c", code],
                        stdin=its.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        cwd="/",
                        process_group=0,
                        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                    )
            except BaseException:
                ours.close()
                raise
            self._socket, self._ready = ours, False

    def read(self, file: IO[bytes]) -> int:
        """Let it read a file; 0, or the negative signal that has ended it. OSError as in `start`.

        An idle helper may have left just now: then another one is asked.
        """
        with self._lock:
            try:
                while True:
                    self.start()
                    assert self._socket is not None and self._process is not None
                    self._await_start(self._socket)
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                        socket.send_fds(self._socket, [_DONE], [file.fileno()])
                        if self._socket.recv(1):
                            return 0
                    if status := self._process.wait():
                        return status
            except BaseException:
                self.end()  # an answer that nobody waited for would be taken for the next one
                raise

    def _await_start(self, link: socket.socket) -> None:
        if not self._ready:
            self._unfit = True
            link.settimeout(_START_SECONDS)
            if not link.recv(1):
                raise OSError("the helper process ended before its first file")
            link.settimeout(None)
            self._ready, self._unfit = True, False

    def end(self) -> None:
        """Kill it."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._socket = self._process = None

    def leave_to_the_parent(self) -> None:
        """In a forked copy of this process: the helper is not this one's."""
        self._lock = threading.RLock()
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.returncode = 0
        self._socket = self._process = None


_HELPER = _Helper()
os.register_at_fork(after_in_child=lambda: _HELPER.leave_to_the_parent())
atexit.register(lambda: _HELPER.end())


def start() -> None:
    """Start the helper ahead of the first file: it loads the HDF5 library meanwhile."""
    with contextlib.suppress(OSError):
        _HELPER.start()


def probe(file: IO[bytes], path: str) -> None:
    """Let the helper read a file, unless it has, or this process wrote the file.

    Where this system allows no further process, the file is read unprobed.

    Raises:
        DataError: the file crashes the HDF5 library, or keeps it busy.
    """
    held = file if isinstance(file, io.BytesIO) else None
    key = identity(file) if held is None else hashlib.sha256(held.getbuffer()).digest()
    if key in _HELPER.known or key in WRITTEN:
        return
    try:
        with contextlib.nullcontext(file) if held is None else _on_disk(held) as readable:
            status = _HELPER.read(readable)
    except OSError as error:
        _log.debug("%r is read without a helper process: %s", path, error)
        return
    claim = f"{path!r} is damaged or hostile HDF5: the HDF5 library"
    if -status in _CRASHES:
        raise DataError(f"{claim} crashes on it ({signal.Signals(-status).name}); {_ADVICE}")
    if -status == signal.SIGPROF:
        raise DataError(
            f"{claim} needs more than {LISTING_SECONDS:g} s to list what it holds; {_ADVICE}"
        )
    _HELPER.known.add(key)


def _on_disk(file: IO[bytes]) -> IO[bytes]:
    """A copy of what is held in memory, as a temporary file without a name."""
    copy = tempfile.TemporaryFile()
    file.seek(0)
    shutil.copyfileobj(file, copy)
    file.seek(0)
    copy.flush()
    return copy


# In the helper ------------------------------------------------------------------------------------


def serve(seconds: float) -> None:
    """Read the files that arrive on stdin, a socket, and answer each; until it closes, or idles.

    Listing a file may take `seconds` of processor time.
    """
    import resource

    import h5py  # noqa: F401

    from gnc_cli.io.hdf5 import read_ends

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)  # the end of this process, whatever it is at

    def allow_more() -> None:
        left, _ = signal.getitimer(signal.ITIMER_PROF)
        signal.setitimer(signal.ITIMER_PROF, left + _OBJECT_SECONDS)

    def listed() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, _ENDS_SECONDS)

    requests = socket.socket(fileno=0)
    requests.sendall(_DONE)
    while True:
        requests.settimeout(_IDLE_SECONDS)
        try:
            message, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        except TimeoutError:
            return
        if not message:
            return
        with cast(IO[bytes], _Borrowed(descriptors[0])) as file:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            # What Python can say of the file is said by the process that asked.
            with contextlib.suppress(Exception):
                read_ends(file, allow_more, listed, 0.6 * _ENDS_SECONDS)
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        requests.sendall(_DONE)


class _Borrowed(io.RawIOBase):
    """A file that another process has open: its position there, which is shared, stays."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._position = descriptor, 0

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._descriptor, [buffer], self._position)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = (0, self._position, os.fstat(self._descriptor).st_size)[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
