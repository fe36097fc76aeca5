"""A call of the library among what else its process does: settings of libraries, other threads."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

_CHANGED = threading.Lock()
_GENERATOR = threading.RLock()
_RUNNING: set[threading.Thread] = set()
"""The threads with a call at work."""
_callers_dtype: Any = None
"""The default dtype of torch to which the last call returns; None where it is ours."""


def loaded(name: str) -> Any:
    """A module if this process uses it, whole even where another thread is loading it; or None.

    Example:
        >>> loaded("antigravity") is None
        True
    """
    return import_module(name) if sys.modules.get(name) is not None else None


@contextmanager
def default_settings() -> Iterator[None]:
    """Run a call under NumPy's and torch's default settings, whatever the caller's are; restore.

    The default dtype is one for all threads of a process: the last call at work restores it.
    """
    thread = threading.current_thread()
    if thread in _RUNNING:  # a call within a call
        yield
        return
    numpy, torch = loaded("numpy"), loaded("torch")
    with ExitStack() as stack:
        stack.enter_context(_running(thread, torch))
        if numpy is not None:
            stack.enter_context(numpy.errstate(all="warn", under="ignore"))
        if torch is not None:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            for device in filter(torch.is_autocast_enabled, ("cpu", "cuda")):
                stack.enter_context(torch.autocast(device, enabled=False))
            if torch.get_default_device().type != "cpu":  # it slows every operation down
                stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def exclusive_generator(gpus: Sequence[Any] = ()) -> Iterator[None]:
    """Let one thread at a time seed torch's own generators and draw from them; restore them."""
    import torch

    with _GENERATOR, torch.random.fork_rng(devices=gpus):
        yield


@contextmanager
def _running(thread: threading.Thread, torch: Any) -> Iterator[None]:
    global _callers_dtype
    with _CHANGED:
        _RUNNING.add(thread)
        if torch is not None and torch.get_default_dtype() != torch.float32:
            _callers_dtype = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        with _CHANGED:
            _RUNNING.discard(thread)
            if not _RUNNING and _callers_dtype is not None:
                torch.set_default_dtype(_callers_dtype)
                _callers_dtype = None
