"""Tables of the documentation made from the program: options, keys, exit codes, algebraic
constructions, names of Python.

They stand between `<!-- table: NAME -->` and `<!-- end of table -->` in the pages.
`python -m tests.reference` writes them, and so does `make docs`.
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

ORDER = ("solve", "measure", "bounds", "train", "compare")
"""The commands in the order of the pages."""
MIN_SHARED_KEYS = 5
"""Number of keys alike in two records from which on they are named in a line: fewer are rows."""

_TABLE = re.compile(r"(?<=^<!-- table: )(.*?)( -->\n).*?(?=^<!-- end of table -->$)", re.M | re.S)


def with_tables(text: str) -> str:
    """Return the text of a page with its tables as the program is today."""
    return _TABLE.sub(lambda m: f"{m[1]}{m[2]}\n{_generated(*m[1].split())}\n", text)


def _generated(name: str, command: str = "") -> str:
    if name == "options":
        return options(command)
    if name == "records":
        return record_sections(command)
    if name == "constructions":
        return constructions()
    heads_of, rows = {
        "program": (("option", "meaning"), program_options),
        "exit-codes": (("exit code", "meaning"), exit_codes),
        "names": (("name and arguments", "meaning"), names),
    }[name]
    return table(heads_of, rows())


def table(heads: Row, rows: Iterator[Row]) -> str:
    """Return a table in Markdown, without padding; a bar within a cell is escaped."""
    lines = [heads, ("---",) * len(heads), *rows]
    cells = ([" ".join(str(cell).split()).replace("|", r"\|") for cell in row] for row in lines)
    return "".join(f"|{'|'.join(row)}|\n" for row in cells)


def options(command: str) -> str:
    """Return the options of a command, or those of every command, by headings of the help text."""
    every = [_option_rows(name) for name in ORDER]
    shared = [row for row in every[0] if all(row in rows for rows in every)]
    panels: dict[str, list[Row]] = {}
    for heading, *row in shared if command == "every" else _option_rows(command):
        if command == "every" or (heading, *row) not in shared:
            panels.setdefault(heading, []).append((*row,))
    title = "every command" if command == "every" else f"`gnc {command}`"
    parts = [
        f"### {heading}: {title}\n\n{table(('option', 'meaning'), iter(rows))}"
        for heading, rows in panels.items()
    ]
    return "\n".join(parts)


def _option_rows(command: str) -> list[Row]:
    """Return the heading, spelling and help of each option of a command."""
    declared_here = {n: p for n, p in declared(Commands.function(command)).items() if p.in_shell}
    return [
        ("Files" if p.argument else p.group, _written(name, p), p.help)
        for name, p in (declared_here | declared(OutputOptions) | declared(GateOptions)).items()
    ]


def _written(name: str, parameter: Parameter) -> str:
    """Return an option as it is typed, with the placeholder of its value."""
    value = parameter.metavar or (parameter.kind.metavar if parameter.kind else None)
    if parameter.argument:
        return f"`{value}`"
    if parameter.kind is not None and parameter.kind.choices is not None:
        value = "|".join(parameter.kind.choices)
    flags = [parameter.flag or parameter.option(name), *(parameter.short or "").split()]
    return ", ".join(f"`{flag}`" for flag in flags) + (f" `{value}`" if value else "")


def program_options() -> Iterator[Row]:
    """Yield the options of `gnc` itself."""
    command = get_command(program)
    context = command.context_class(command, help_option_names=["-h", "--help"])
    for option in command.get_params(context):
        yield ", ".join(f"`{name}`" for name in sorted(option.opts)), getattr(option, "help", "")


def record_sections(command: str) -> str:
    """Return a section for each record of a command's JSON that no earlier command prints."""
    printed: dict[str, dict[str, Any]] = {}
    for earlier in ORDER[: ORDER.index(command)]:
        printed |= schemas.load(earlier)["$defs"]
    definitions = schemas.load(command)["$defs"]
    names = [record.__name__ for record in records.results(command)]
    for name in names:  # grows to all records below the results, breadth first
        names += [inner for inner in _references(definitions[name]) if inner not in names]
    sections = []
    for name in names:
        if name not in printed:
            sections.append(f"### {name}\n\n{_record(definitions[name], printed)}")
            printed[name] = definitions[name]
    return "\n".join(sections)


def _references(part: Any) -> Iterator[str]:
    """Yield the names of the records that a part of a JSON Schema refers to."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield _record_name(part)
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _record_name(part: dict[str, Any]) -> str:
    return str(part["$ref"].rpartition("/")[2])


def _record(shape: dict[str, Any], printed: dict[str, dict[str, Any]]) -> str:
    """Return the description of a record and the table of its keys.

    Keys that an earlier record has alike are named in a line in place of rows.
    """
    text = f"{' '.join(shape.get('description', '').split())}\n"
    if "enum" in shape:
        return f"{text}\nOne of {', '.join(f'`{value}`' for value in shape['enum'])}.\n"
    keys = {name: part for name, part in shape["properties"].items() if name != "seconds"}
    alike = {
        name: [key for key in keys if other.get("properties", {}).get(key) == keys[key]]
        for name, other in printed.items()
    }
    base = max(alike, key=lambda name: len(alike[name]), default="")
    if base and len(alike[base]) >= MIN_SHARED_KEYS:
        shared = ", ".join(f"`{key}`" for key in alike[base])
        text += f"\nKeys as in {_link(base)}: {shared}.\n"
        keys = {name: part for name, part in keys.items() if name not in alike[base]}
    rows = ((f"`{key}`", _short_type(p), p.get("description", "")) for key, p in keys.items())
    return f"{text}\n{table(('key', 'type', 'meaning'), rows)}" if keys else text


def _link(record: str) -> str:
    return f"[{record}](#{record.lower()})"


def _short_type(part: dict[str, Any]) -> str:
    """Return the type of a value, with a question mark if it may be null."""
    names = _type_name(part).split(" or ")
    shown = " or ".join(name for name in names if name != "null")
    return f"{shown}?" if "null" in names else shown


def _type_name(part: dict[str, Any]) -> str:
    """Return the type of a value, with links to the records in it."""
    if "$ref" in part:
        return _link(_record_name(part))
    if "anyOf" in part:
        names = [_type_name(option).split(" or ") for option in part["anyOf"]]
        return " or ".join(dict.fromkeys(itertools.chain.from_iterable(names)))
    if "enum" in part:
        return " or ".join(f"`{value}`" for value in part["enum"])
    kind = part.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    inner = part.get("items") or part.get("additionalProperties")
    if kind in ("array", "object") and isinstance(inner, dict) and [*_references(inner)]:
        return f"{'list' if kind == 'array' else 'object'} of {_type_name(inner)}"
    return "list" if kind == "array" else str(kind)


def exit_codes() -> Iterator[Row]:
    """Yield the exit codes, from the docstrings of the enumeration."""
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


def constructions() -> str:
    """Return the table of every code that `--construction` can name, and its numbered sources."""
    sources: dict[str, str] = {}

    def numbers(text: str | None) -> str:
        parts = text.split("; ") if text else []
        return ", ".join(sources.setdefault(part, f"[{len(sources) + 1}]") for part in parts)

    heads_of = ("name", "code", "d", "K", "largest cosine", "found by", "proved optimal by")
    rows = [
        (f"`{row.name}`", row.title, row.d, row.K, f"`{row.max_cosine}`")
        + (numbers(row.reference), numbers(row.optimality))
        for row in list_constructions().rows
    ]
    listed = "\n".join(f"{number[1:-1]}. {source}" for source, number in sources.items())
    return f"{table(heads_of, iter(rows))}\nSources:\n\n{listed}\n"


def names() -> Iterator[Row]:
    """Yield the promised functions and classes with the first paragraph of their docstrings."""
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
            if name in (*commands, *series[:3]):
                shown += "(...)"
            elif module not in (records, brackets, errors):
                called = inspect.signature(thing).parameters.values()
                shown += f"({', '.join(_argument(p) for p in called)})"
            yield f"`{shown}`", (inspect.getdoc(thing) or "").partition("\n\n")[0]


def _argument(parameter: inspect.Parameter) -> str:
    """Return an argument as in a call: without its type."""
    value = parameter.default
    shown = repr(str(value) if isinstance(value, str) else value)  # of an enumeration, its value
    default = "" if value is parameter.empty else f"={shown}"
    return str(parameter.replace(annotation=parameter.empty, default=parameter.empty)) + default


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
