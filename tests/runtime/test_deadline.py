"""The deadline of a call: from when its time counts."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.runtime.deadline import Deadline, SaveTimes


def began(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The program began this many seconds ago."""
    monkeypatch.setattr(Deadline, "program_start", time.monotonic() - seconds)


def test_the_time_limit_of_a_command_counts_from_the_start_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began(monkeypatch, 1000)
    assert 8990 < Deadline.begin_call(1e4, None).remaining <= 9000
    assert Deadline.begin_call(1e4, None).remaining > 9990


def test_a_slow_start_leaves_half_of_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    began(monkeypatch, 1e6)
    assert Deadline.begin_call(1e4, None).remaining == pytest.approx(5000, abs=10)


def test_a_call_within_the_command_has_its_own_time_limit_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began(monkeypatch, 1000)
    assert Deadline.begin_call(None, None).remaining == float("inf")
    assert Deadline.begin_call(1e4, None).remaining > 9990


def test_a_slow_save_is_made_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    times, saved = SaveTimes(), []
    for second in range(101, 3000):
        now[0] = max(now[0], float(second))
        if times.due:
            with times.saving():
                saved.append(now[0])
                now[0] += 0.5 if len(saved) < 3 else 50.0
    assert saved == [130.0, 161.0, 192.0, 1242.0, 2292.0]


@given(
    st.none() | st.floats(0.0, 9.0),
    st.floats(0.0, 9.0),
    st.floats(0.0, 9.0),
    st.floats(0.0, 20.0),
    st.sampled_from(["before", "after", "never"]),
)
def test_a_deadline_that_is_put_off(
    seconds: float | None, spent: float, more: float, later: float, interrupted: str
) -> None:
    """It gives some time after the limit, and after a signal that came before, never too much."""
    now, signal = [0.0], threading.Event()
    deadline = Deadline(seconds, signal, clock=lambda: now[0])
    now[0] = spent
    if interrupted == "before":
        signal.set()
    off = deadline.no_sooner(more)
    if interrupted == "after":
        signal.set()
    now[0] = spent + later
    end = float("inf") if seconds is None else max(spent + more, seconds)
    end = spent + more if interrupted == "before" else end
    expired = interrupted == "after" or spent + later >= end
    assert off.expired == expired or abs(spent + later - end) < 1e-9
    if off.expired:
        with pytest.raises(TimeoutError):
            off.check()
    else:
        off.check()


def test_waiting_for_a_library_ends_at_the_deadline_or_an_interrupt() -> None:
    """The library itself goes on, here until the test lets it."""
    leave, interrupt = threading.Event(), threading.Event()
    interrupt.set()
    assert Deadline().wait_for(lambda: 7) == 7
    assert Deadline(0.0).wait_for(leave.wait) is None
    assert Deadline(0.05).wait_for(leave.wait) is None
    assert Deadline(None, interrupt).wait_for(leave.wait) is None
    leave.set()


def test_an_error_of_a_library_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        Deadline().wait_for(lambda: 1 / 0)
