"""Which options of `compare` belong together, and what is said of those that do not."""

from typing import Any

import pytest

from gnc_cli import compare
from gnc_cli.errors import UsageError
from gnc_cli.parameters import in_shell

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing to compare"),
    ({"files": ("a.h5",), "list": True}, "--list and files exclude each other"),
    ({"files": ("a.h5",), "proven": True}, "--proven requires --list; drop --proven"),
    ({"list": True, "digits": 50}, "--digits requires files; drop --"),
    ({"list": True, "describe": True}, "--describe requires files; drop --"),
    ({"list": True, "export": "x"}, "--export requires files"),
    ({"list": True, "threads": 1}, "--threads requires files"),
    ({"list": True, "tolerance": 0.0}, "--tolerance requires files; drop"),
    ({"list": True, "require_entry": True}, "--require-entry requires files; drop"),
    ({"list": True, "time_limit": 1.0}, "--time-limit requires files; drop"),
    ({"files": ("a.h5",), "K": 3}, "--K requires --list; drop"),
    ({"files": ("a.h5",), "d": (3, 4)}, "--d takes one dimension"),
    ({"list": True, "d": 1}, "--d 1 is too small"),
    ({"list": True, "K": 3.5}, "--K 3.5 is not a whole number"),
    ({"list": True, "K": ()}, "--K is an empty list"),
    ({"files": ("a.h5",), "tolerance": float("nan")}, "--tolerance nan"),
    ({"files": ("a.h5",), "digits": 1001}, "--digits 1001 is too large"),
]


@pytest.mark.parametrize(("call", "words"), MISTAKES, ids=lambda v: str(v))
def test_mistakes_name_the_next_step(call: dict[str, Any], words: str) -> None:
    options = {name: value for name, value in call.items() if name != "files"}
    with in_shell(), pytest.raises(UsageError) as caught:
        compare(list(call.get("files", ())), **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_python_callers_read_their_own_names() -> None:
    with pytest.raises(UsageError, match="^require_entry requires files; drop require_entry$"):
        compare(list=True, require_entry=True)
