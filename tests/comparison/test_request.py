"""Which options of `compare` belong together, and what is said of those that do not."""

from typing import Any

import pytest

from gnc_cli import compare
from gnc_cli.errors import UsageError
from gnc_cli.parameters import in_shell

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing to compare"),
    ({"list": True, "solve": True}, "--list and --solve exclude each other"),
    ({"files": ("a.h5",), "list": True}, "--list and files exclude each other"),
    ({"files": ("a.h5",), "proven": True}, "--proven requires --list; drop --proven"),
    ({"list": True, "digits": 50}, "--digits requires files; drop --"),
    ({"list": True, "describe": True}, "--describe requires files; drop --"),
    ({"list": True, "export": "x"}, "--export requires files"),
    ({"list": True, "threads": 1}, "--threads requires files"),
    ({"list": True, "tolerance": 0.0}, "--tolerance requires files or --solve; drop"),
    ({"list": True, "require_entry": True}, "--require-entry requires files or --solve; drop"),
    ({"list": True, "time_limit": 1.0}, "--time-limit requires files or --solve; drop"),
    ({"list": True, "seed": 1}, "--seed requires --solve"),
    ({"files": ("a.h5",), "budget": 1.0}, "--budget requires --solve"),
    ({"files": ("a.h5",), "workers": 2}, "--workers requires --solve"),
    ({"list": True, "cluster": "tcp://here:8786"}, "--cluster requires --solve"),
    ({"solve": True, "d": 3, "K": 4, "cluster": "here"}, "--cluster 'here' is not the address"),
    (
        {"solve": True, "d": 3, "K": 4, "cluster": "tcp://here:8786", "workers": 2},
        "--workers excludes --cluster; the cluster has",
    ),
    ({"files": ("a.h5",), "out": "r.jsonl"}, "--out requires --solve"),
    ({"files": ("a.h5",), "resume": True}, "--resume requires --solve"),
    ({"files": ("a.h5",), "K": 3}, "--K requires --list or --solve"),
    ({"files": ("a.h5",), "d": (3, 4)}, "--d takes one dimension"),
    ({"solve": True}, "add --d 3..5 and --K 2..40"),
    ({"solve": True, "d": 3, "K": 4, "export": "x"}, "--export requires files; drop --"),
    ({"solve": True, "d": 3}, "add --K 2..40"),
    ({"solve": True, "d": 3, "K": 4, "resume": True}, "add --out rows.jsonl"),
    ({"solve": True, "d": 3, "K": 4, "out": "-"}, "--jsonl"),
    ({"list": True, "d": 1}, "--d 1 is too small"),
    ({"list": True, "K": 3.5}, "--K 3.5 is not a whole number"),
    ({"list": True, "K": ()}, "--K is an empty list"),
    ({"files": ("a.h5",), "tolerance": float("nan")}, "--tolerance nan"),
    ({"files": ("a.h5",), "digits": 1001}, "--digits 1001 is too large"),
    ({"solve": True, "d": 3, "K": 4, "budget": 0.0}, "--budget 0.0 is too small"),
    ({"solve": True, "d": 3, "K": 4, "out": "rows.csv"}, ".jsonl"),
]


@pytest.mark.parametrize(("call", "words"), MISTAKES, ids=lambda v: str(v))
def test_mistakes_name_the_next_step(call: dict[str, Any], words: str) -> None:
    options = {name: value for name, value in call.items() if name != "files"}
    with in_shell(), pytest.raises(UsageError) as caught:
        compare(list(call.get("files", ())), **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_python_callers_read_their_own_names() -> None:
    with pytest.raises(
        UsageError, match="^require_entry requires files or solve; drop require_entry$"
    ):
        compare(list=True, require_entry=True)
