"""Compare the package, the pages and the help with the list of words, `tests/words.toml`.

python -m tests.words                  count the faults of each folder
python -m tests.words gnc_cli/limits   name each of them, of a folder or a file
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_suffix(".toml")

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (ast.Module, ast.ClassDef, *_FUNCTIONS)
_CODE = re.compile(r"(`+)(?=[^`]).*?\1", re.DOTALL)
"""Code within prose."""
_DOCTEST = re.compile(r"^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
_BLOCK = re.compile(r"^ *(`{3,}|~{3,})(?!\{(?:note|tip|warning|important)).*?^ *\1`*$", re.M | re.S)
"""A block of code or output in a page; notes are prose."""
_FIRST = re.compile(r"\W*([\w'-]+)")


@dataclass(frozen=True, order=True)
class Fault:
    """A word, or a name, that the list excludes."""

    path: str
    """File, from the root of the repository."""
    line: int
    kind: str
    """One of `word`, `name`, `constant`, `first word`, `verb`."""
    word: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind} {self.word!r}: {self.advice}"


_ADVICE = {
    "name": "a name is a noun or a verb: say what it holds",
    "constant": "say what it bounds",
    "first word": "begin with a noun (fields, classes, constants) or a verb (functions)",
    "verb": "begin with a verb of the list (`Return ...`)",
}


class Words:
    """The list, read from its file."""

    def __init__(self) -> None:
        data = tomllib.loads(LIST.read_text(encoding="utf-8"))
        self.public = {(file, name) for file, names in data["public"].items() for name in names}
        self.names = {name for kind in data["names"].values() for name in kind}
        self.first_parts = frozenset(data["parts_of_names"]["first"])
        self.parts = frozenset(data["parts_of_names"]["any"])
        self.adjectives = frozenset(data["constants"]["adjectives"])
        self.first_words = frozenset(data["docstrings"]["first_words"])
        self.verbs = frozenset(data["docstrings"]["verbs"])
        self._instead = {
            spelling: instead
            for spellings, instead in data["words"].items()
            for spelling in spellings.split("|")
        }
        spaced = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in self._instead)
        self._words = re.compile(rf"(?<![\w./-])(?:{spaced})(?![\w/-]|\.\w)", re.IGNORECASE)
        self._allowed = re.compile("|".join(data["phrases"]["allowed"]).replace(" ", r"\s+"))

    def in_prose(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Yield the excluded words of a text: the line, from 0, the word, what to say instead."""
        for match in self._words.finditer(_blanked(self._allowed, text)):
            word = " ".join(match[0].lower().split())
            yield text.count("\n", 0, match.start()), word, f"say {self._instead[word]}"

    def in_name(self, name: str) -> str | None:
        """Return the kind of fault of a name, or None."""
        if name.startswith("__"):
            return None
        plain = name.strip("_").lower()
        parts = plain.split("_")
        if plain in self.names or parts[0] in self.first_parts or self.parts & {*parts}:
            return "name"
        return "constant" if name.isupper() and plain in self.adjectives else None

    def in_docstring(self, text: str, function: bool) -> tuple[str, str] | None:
        """Return the kind of fault of a docstring's first word, and the word, or None."""
        match = _FIRST.match(text)
        first = match[1] if match else ""
        if first.lower() in self.first_words:
            return "first word", first
        return ("verb", first) if function and first not in self.verbs else None


@cache
def words() -> Words:
    """Return the list."""
    return Words()


def files() -> list[Path]:
    """Return the files that are compared with the list."""
    pages = (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    return sorted([*(ROOT / "gnc_cli").rglob("*.py"), *pages])


def folder(path: str) -> str:
    """Return the folder by which a file is counted: a package, a part of the pages, or a page."""
    parts = path.split("/")
    return "/".join(parts[: min(2, len(parts) - 1)]) or path


def faults(path: Path) -> list[Fault]:
    """Return the faults of a file, by lines."""
    name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    return sorted({*(code_faults if path.suffix == ".py" else page_faults)(name, text)})


def page_faults(name: str, text: str) -> Iterator[Fault]:
    """Yield the faults of a page; what stands in blocks of code and in backquotes is no prose."""
    yield from _in_prose(name, 1, _blanked(_BLOCK, text))


def code_faults(name: str, text: str) -> Iterator[Fault]:
    """Yield the faults of a file of the package: its names, docstrings, messages and comments."""
    tree = ast.parse(text)
    for word in words().parts & {*Path(name).stem.split("_")}:
        yield Fault(name, 1, "name", word, "in the name of the file")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value.strip():
                yield from _in_prose(name, node.lineno, _blanked(_DOCTEST, node.value))
        elif isinstance(node, _SCOPES):
            yield from _in_scope(name, node)
    suspect = "\n".join(line.partition("#")[2] for line in text.splitlines() if "#" in line)
    if not [*words().in_prose(suspect)]:  # the tokenizer is slow
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from _in_prose(name, token.start[0], token.string)


def _in_prose(name: str, line: int, text: str) -> Iterator[Fault]:
    for offset, word, advice in words().in_prose(_blanked(_CODE, text)):
        yield Fault(name, line + offset, "word", word, advice)


def _in_scope(name: str, scope: ast.Module | ast.ClassDef | ast.FunctionDef) -> Iterator[Fault]:
    """Yield the faults of a module, class or function: of its docstrings, and of each name once."""
    lines: dict[str, int] = {}
    for line, bound in _names(scope):
        lines.setdefault(bound, line)
    for bound, line in lines.items():
        if (name, bound) not in words().public and (kind := words().in_name(bound)):
            yield Fault(name, line, kind, bound, _ADVICE[kind])
    noun = any("property" in ast.unparse(by) for by in getattr(scope, "decorator_list", ()))
    for number, statement in enumerate(scope.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            string = statement.value.value
            function = isinstance(scope, _FUNCTIONS) and not number and not noun
            if isinstance(string, str) and (fault := words().in_docstring(string, function)):
                kind, word = fault
                yield Fault(name, statement.lineno, kind, word, _ADVICE[kind])


def bound_names(text: str) -> set[str]:
    """Return the names that a file binds anywhere."""
    scopes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, _SCOPES))
    return {name for scope in scopes for _, name in _names(scope)}


def _names(scope: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a module, class or function binds itself, with their lines."""
    waiting = [*ast.iter_child_nodes(scope)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            yield node.lineno, node.name
            continue
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.lineno, node.name
        waiting += ast.iter_child_nodes(node)


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return the text with spaces in place of what matches; lines stay."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def main(paths: list[str]) -> None:
    """Print the faults of folders and files, or, without any, their numbers by folder and kind."""
    chosen = [
        path
        for path in files()
        if not paths or any(path.is_relative_to(Path(name).resolve()) for name in paths)
    ]
    everything = [fault for path in chosen for fault in faults(path)]
    if paths:
        print(*everything, sep="\n")
    counts = Counter((folder(fault.path), fault.kind) for fault in everything)
    kinds = sorted({fault.kind for fault in everything})
    for name in sorted({folder(path.relative_to(ROOT).as_posix()) for path in chosen}):
        row = {kind: counts[name, kind] for kind in kinds}
        shown = ", ".join(f"{kind} {number}" for kind, number in row.items() if number)
        print(f"{name}: {sum(row.values())}" + (f" ({shown})" if shown else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
