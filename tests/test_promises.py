"""What a release promises is named in lists, with which the program is compared.

`python -m tests.test_promises` adds new options and exit codes to `promises.txt`; the keys there
are those that a pipeline reads. Nothing leaves it before a release that says so.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnc_cli import schemas
from gnc_cli.cli import COMMANDS, Commands
from gnc_cli.console.options import GateOptions, OutputOptions
from gnc_cli.errors import ExitCode
from gnc_cli.parameters import declared
from tests.documents import ROOT

LIST = Path(__file__).parent / "promises.txt"
PAGE = (ROOT / "docs/reference/promises.md").read_text(encoding="utf-8")
NAMES = {
    module: set(re.findall(r"`(\w+)`", names))
    for module, names in re.findall(r"^\| `(gnc_cli[\w.]*)` \| (.*) \|$", PAGE, re.MULTILINE)
}


def _promised() -> list[str]:
    """A line for each option, each key of the JSON and each exit code."""
    lines = [f"exit {code.value} {code.name}" for code in ExitCode]
    for command in COMMANDS:
        own = declared(Commands.function(command))
        options = own | declared(OutputOptions) | declared(GateOptions)
        for name, parameter in options.items():
            if parameter.in_shell and not parameter.argument:
                flags = [parameter.flag or parameter.option(name), parameter.short or ""]
                lines.append(f"{command} option {' '.join(flags).strip()}")
        lines += [f"{command} argument {name}" for name, p in own.items() if p.argument]
        schema = schemas.load(command)
        keys = dict.fromkeys(key for part in schema["anyOf"] for key in _keys(part, schema, ""))
        lines += [f"{command} key {key}" for key in keys]
    return lines


def _keys(part: dict[str, Any], schema: dict[str, Any], prefix: str) -> Iterator[str]:
    """The keys below a part of a JSON Schema, dotted."""
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    for name, below in part.get("properties", {}).items():
        yield prefix + name
        yield from _keys(below, schema, f"{prefix}{name}.")
    for other in [*part.get("anyOf", ()), *([part["items"]] if "items" in part else ())]:
        yield from _keys(other, schema, prefix)


def test_every_promise_is_kept_and_listed() -> None:
    listed, now = LIST.read_text(encoding="utf-8").splitlines(), _promised()
    assert [line for line in listed if line not in now] == [], "a release promised these"
    new = [line for line in now if " key " not in line and line not in listed]
    assert new == [], "new options: run `make generate`, which adds them to tests/promises.txt"


@pytest.mark.parametrize("module", NAMES)
def test_the_names_of_python_are_those_of_the_page(module: str) -> None:
    package = module.rpartition(".")[2]
    if package in ("torchmetrics", "lightning", "transformers"):
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert re.findall(r'^__all__ = \["(\w+)"\]$', text, re.MULTILINE) == [*NAMES[module]]
        return
    if module == "gnc_cli.heads":
        pytest.importorskip("torch")
    loaded: Any = importlib.import_module(module)
    assert all(hasattr(loaded, name) for name in NAMES[module])
    if hasattr(loaded, "__all__"):
        assert NAMES[module] == {*loaded.__all__}
    elif module == "gnc_cli.errors":
        assert NAMES[module] == {name for name, _ in inspect.getmembers(loaded, _is_own)}


def _is_own(value: Any) -> bool:
    return inspect.isclass(value) and value.__module__ == "gnc_cli.errors"


if __name__ == "__main__":
    old = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    new = [line for line in _promised() if " key " not in line and line not in old]
    LIST.write_text("".join(f"{line}\n" for line in [*old, *new]), encoding="utf-8")
