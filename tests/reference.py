"""Tables of the documentation that say what the program says of itself: options, keys, exit codes,
codes from algebra, names of Python.

They stand between `<!-- table: NAME -->` and `<!-- end of table -->` in the pages.
`python -m tests.reference` writes them anew, `make docs` does too.
"""

import ast
import inspect
import itertools
import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

import gnc_cli
from gnc_cli import brackets, errors, heads, list_constructions, records, schemas
from gnc_cli.cli import Commands
from gnc_cli.cli import app as program
from gnc_cli.console.options import GateOptions, OutputOptions
from gnc_cli.parameters import Parameter, declared
from tests.documents import PAGES

Row = tuple[str, ...]

_TABLE = re.compile(r"(?<=^<!-- table: )(.*?)( -->\n).*?(?=^<!-- end of table -->$)", re.M | re.S)


def with_tables(text: str) -> str:
    """The text of a page with its tables as the program is today."""
    return _TABLE.sub(lambda m: f"{m[1]}{m[2]}\n{_generated(*m[1].split())}\n", text)


def _generated(name: str, command: str = "") -> str:
    if name == "options":
        return options(command)
    heads_of, rows = {
        "program": (("option", "meaning"), program_options),
        "keys": (("key", "type", "meaning"), lambda: keys(command)),
        "exit-codes": (("exit code", "meaning"), exit_codes),
        "constructions": (
            ("name", "code", "d", "K", "largest cosine", "found by", "proved optimal by"),
            constructions,
        ),
        "names": (("name and arguments", "meaning"), names),
    }[name]
    return table(heads_of, rows())


def table(heads: Row, rows: Iterator[Row]) -> str:
    """A table in Markdown; a bar within a cell is escaped."""
    lines = [heads, ("---",) * len(heads), *rows]
    cells = ([" ".join(str(cell).split()).replace("|", r"\|") for cell in row] for row in lines)
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def options(command: str) -> str:
    """The options of a command by the headings of its help text."""
    own = {n: p for n, p in declared(Commands.function(command)).items() if p.in_shell}
    panels: dict[str, list[Row]] = {}
    for key, parameter in (own | declared(OutputOptions) | declared(GateOptions)).items():
        heading = "Files" if parameter.argument else parameter.group
        panels.setdefault(heading, []).append((_written(key, parameter), parameter.help))
    parts = [
        f"### {h}: `gnc {command}`\n\n{table(('option', 'meaning'), iter(rows))}"
        for h, rows in panels.items()
    ]
    return "\n".join(parts)


def _written(name: str, parameter: Parameter) -> str:
    """An option as it is typed, with what stands for its value."""
    value = parameter.metavar or (parameter.kind.metavar if parameter.kind else None)
    if parameter.argument:
        return f"`{value}`"
    if parameter.kind is not None and parameter.kind.choices is not None:
        value = "|".join(parameter.kind.choices)
    flags = [parameter.flag or parameter.option(name), *(parameter.short or "").split()]
    return ", ".join(f"`{flag}`" for flag in flags) + (f" `{value}`" if value else "")


def program_options() -> Iterator[Row]:
    """The options of `gnc` itself."""
    command = get_command(program)
    context = command.context_class(command, help_option_names=["-h", "--help"])
    for option in command.get_params(context):
        yield ", ".join(f"`{name}`" for name in sorted(option.opts)), getattr(option, "help", "")


def keys(command: str) -> Iterator[Row]:
    """The keys of a command's JSON, dotted, with type and meaning."""
    schema = schemas.load(command)
    seen: set[str] = set()
    for shape in schema["anyOf"]:
        for row in _properties(shape, schema["$defs"], ""):
            if row[0] not in seen:
                seen.add(row[0])
                yield row


def _properties(
    shape: dict[str, Any], definitions: dict[str, Any], prefix: str, depth: int = 0
) -> Iterator[Row]:
    for name, part in shape.get("properties", {}).items():
        if prefix == "" and name in ("schema", "command", "version", "seconds"):
            continue
        inner, is_list = _records(part, definitions)
        key = f"{prefix}{name}" + ("[ ]" if is_list else "")
        yield f"`{key}`", _type_name(part), part.get("description", "")
        for record in inner if depth < 2 else ():
            yield from _properties(record, definitions, f"{key}.", depth + 1)


def _records(part: dict[str, Any], definitions: dict[str, Any]) -> tuple[list[Any], bool]:
    """The records that a value may hold, and whether it is a list of them."""
    if "$ref" in part:
        return [definitions[part["$ref"].rpartition("/")[2]]], False
    if "anyOf" in part:
        found = [_records(option, definitions) for option in part["anyOf"]]
        return [r for records, _ in found for r in records], any(is_list for _, is_list in found)
    if part.get("type") == "array" and "items" in part:
        return _records(part["items"], definitions)[0], True
    return [], False


def _type_name(part: dict[str, Any]) -> str:
    if "$ref" in part:
        return "object"
    if "anyOf" in part:
        names = [_type_name(option).split(" or ") for option in part["anyOf"]]
        return " or ".join(dict.fromkeys(itertools.chain.from_iterable(names)))
    if "enum" in part:
        return " or ".join(f"`{value}`" for value in part["enum"])
    kind = part.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    return "list" if kind == "array" else str(kind)


def exit_codes() -> Iterator[Row]:
    """The exit codes, from the documentation of the enumeration."""
    (tree,) = ast.parse(inspect.getsource(errors.ExitCode)).body
    assert isinstance(tree, ast.ClassDef)
    texts = [
        s.value.value
        for s in tree.body
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
    ][1:]
    for code, text in zip(errors.ExitCode, texts, strict=True):
        for other in errors.ExitCode:
            text = str(text).replace(other.name, str(other.value))
        yield f"`{code.value}`", str(text)


def constructions() -> Iterator[Row]:
    """Every code that `--construction` can name."""
    for row in list_constructions().rows:
        name, cosine = f"`{row.name}`", f"`{row.max_cosine}`"
        yield (name, row.title, row.d, row.K, cosine, row.reference, row.optimality or "")


def names() -> Iterator[Row]:
    """The functions and classes of `gnc_cli` and of the modules that it promises, with the first
    paragraph of what they say."""
    commands = ("solve", "measure", "bounds", "compare", "train")
    series = ("solve_sweep", "measure_series", "train_series", "list_constructions")
    of_gnc = (*commands, *series, "measure_model", "GNCMetrics")
    of_heads = ("Head", "FixedHead", "ClassMeanHead", "SphereHead", "DecayHead")
    of_losses = ("cosface", "arcface", "make_loss", "ScoreLoss")
    of_errors = sorted(name for name in vars(errors) if name.endswith("Error"))
    for module, members in (
        (gnc_cli, of_gnc),
        (heads, (*of_heads, *of_losses)),
        (records, ("Result",)),
        (brackets, ("Bracket",)),
        (schemas, ("load",)),
        (errors, of_errors),
    ):
        for name in members:
            thing = getattr(module, name)
            shown = f"{module.__name__}.{name}"
            if module not in (records, brackets, errors):
                called = inspect.signature(thing).parameters.values()
                shown += f"({', '.join(_argument(p) for p in called)})"
            yield f"`{shown}`", (inspect.getdoc(thing) or "").partition("\n\n")[0]


def _argument(parameter: inspect.Parameter) -> str:
    """An argument as in a call: without its type."""
    value = parameter.default
    shown = repr(str(value) if isinstance(value, str) else value)  # of an enumeration, its value
    default = "" if value is parameter.empty else f"={shown}"
    return str(parameter.replace(annotation=parameter.empty, default=parameter.empty)) + default


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
