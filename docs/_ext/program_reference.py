"""Directives that show what the program says of itself, so that no page repeats it by hand.

`gnc-program` lists the options of `gnc`, `gnc-options COMMAND` those of a command, `gnc-keys
COMMAND` the keys of the JSON, `gnc-exit-codes` the exit codes, `gnc-constructions` the codes
from algebra.
"""

import ast
import inspect
import itertools
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

import gnc_cli
from gnc_cli import errors, schemas, solve
from gnc_cli.cli import app as program
from gnc_cli.console.options import GateOptions, OutputOptions
from gnc_cli.parameters import Parameter, declared


class _Table(SphinxDirective):
    """A table of `rows()` under `heads`; cells are Markdown or, in `code`, a name."""

    optional_arguments = 1
    heads: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()

    def rows(self) -> Iterator[tuple[str, ...]]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        return [self.table(self.heads, list(self.rows()))]

    def table(self, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> nodes.Node:
        table = nodes.table(classes=["reference-table"])
        group = nodes.tgroup(cols=len(heads))
        table += group
        for width in self.widths or (1,) * len(heads):
            group += nodes.colspec(colwidth=width)
        head = nodes.thead()
        head += self._row(heads)
        body = nodes.tbody()
        body += [self._row(row) for row in rows]
        group += [head, body]
        return table

    def _row(self, cells: tuple[str, ...]) -> nodes.row:
        row = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            self.state.nested_parse(StringList([cell]), self.content_offset, entry)
            row += entry
        return row


class Options(_Table):
    """The options of a command by the headings of its help text."""

    required_arguments = 1
    optional_arguments = 0
    heads = ("option", "meaning")
    widths = (35, 65)

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        own = {n: p for n, p in declared(getattr(gnc_cli, name)).items() if p.in_shell}
        everything = own | declared(OutputOptions) | declared(GateOptions)
        panels: dict[str, list[tuple[str, ...]]] = {}
        for key, parameter in everything.items():
            heading = "Files" if parameter.argument else parameter.group
            panels.setdefault(heading, []).append((_written(key, parameter), parameter.help))
        found: list[nodes.Node] = []
        for heading, rows in panels.items():
            section = nodes.section(ids=[nodes.make_id(f"{name}-{heading}")])
            section += nodes.title(text=heading)
            section += self.table(self.heads, rows)
            found.append(section)
        return found


def _written(name: str, parameter: Parameter) -> str:
    """An option as it is typed, with what stands for its value."""
    value = parameter.metavar or (parameter.kind.metavar if parameter.kind else None)
    if parameter.argument:
        return f"`{value}`"
    if parameter.kind is not None and parameter.kind.choices is not None:
        value = "|".join(parameter.kind.choices)
    flags = [parameter.flag or parameter.option(name), *(parameter.short or "").split()]
    return ", ".join(f"`{flag}`" for flag in flags) + (f" `{value}`" if value else "")


class Program(_Table):
    """The options of `gnc` itself."""

    heads = ("option", "meaning")
    widths = (35, 65)

    def rows(self) -> Iterator[tuple[str, ...]]:
        command = get_command(program)
        context = command.context_class(command, help_option_names=["-h", "--help"])
        for option in command.get_params(context):
            yield ", ".join(f"`{name}`" for name in option.opts), getattr(option, "help", "")


class Keys(_Table):
    """The keys of a command's JSON, dotted, with type and meaning."""

    heads = ("key", "type", "meaning")
    widths = (30, 14, 56)

    def rows(self) -> Iterator[tuple[str, ...]]:
        schema = schemas.load(self.arguments[0])
        seen: set[str] = set()
        for shape in schema["anyOf"]:
            for row in self._properties(shape, schema["$defs"], ""):
                if row[0] not in seen:
                    seen.add(row[0])
                    yield row

    def _properties(
        self, shape: dict[str, Any], definitions: dict[str, Any], prefix: str, depth: int = 0
    ) -> Iterator[tuple[str, ...]]:
        for name, part in shape.get("properties", {}).items():
            if prefix == "" and name in ("schema", "command", "version", "seconds"):
                continue
            inner, is_list = _records(part, definitions)
            key = f"{prefix}{name}" + ("[ ]" if is_list else "")
            yield f"`{key}`", _type_name(part), part.get("description", "")
            for record in inner if depth < 2 else ():
                yield from self._properties(record, definitions, f"{key}.", depth + 1)


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


class ExitCodes(_Table):
    """The exit codes, from the documentation of the enumeration."""

    heads = ("exit code", "meaning")
    widths = (15, 85)

    def rows(self) -> Iterator[tuple[str, ...]]:
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


class Constructions(_Table):
    """Every code that `--construction` can name."""

    heads = ("name", "code", "d", "K", "largest cosine", "proved", "source")
    widths = (17, 20, 5, 8, 16, 8, 26)

    def rows(self) -> Iterator[tuple[str, ...]]:
        listed: Any = solve(list_constructions=True)
        for row in listed.rows:
            proved = {True: "yes", False: "no", None: ""}[row.proven]
            name, cosine = f"`{row.name}`", f"`{row.max_cosine}`"
            yield (name, row.title, row.d, row.K, cosine, proved, row.reference)


def _plain_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str, returned: str
) -> tuple[str, None] | None:
    """Parameters with their defaults alone: types and ranges stand in the text."""
    if what not in ("function", "method", "class"):
        return None
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    bare = [
        p.replace(
            annotation=inspect.Parameter.empty,
            default=str(p.default) if isinstance(p.default, StrEnum) else p.default,
        )
        for p in found.parameters.values()
    ]
    shown = [p for p in bare if p.name != "self"]
    return str(inspect.Signature(shown)), None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    for name, directive in (
        ("gnc-program", Program),
        ("gnc-options", Options),
        ("gnc-keys", Keys),
        ("gnc-exit-codes", ExitCodes),
        ("gnc-constructions", Constructions),
    ):
        app.add_directive(name, directive)
    app.connect("autodoc-process-signature", _plain_signature)
    return {"parallel_read_safe": True}
