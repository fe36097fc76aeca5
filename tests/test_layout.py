"""The layout of the package: every import points down, every module says what it is for."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import gnc_cli
from tests.words import ROOT, bound_names

PACKAGE = ROOT / "gnc_cli"

LAYERS = (
    "__main__",
    "cli",
    "heads",
    "schemas",
    "training",
    "integrations",
    "collapse",
    "comparison",
    "search",
    "limits",
    "console",
    "known_codes",
    "constructions",
    "codes",
    "metrics",
    "geometry",
    "io",
    "runtime",
    "parameters",
    "parsing",
    "figures",
    "records",
    "keys",
    "plain",
    "brackets",
    "escaping",
    "errors",
    "__init__",
)
"""From the top: a module imports from its own folder and from names further right."""

COMMANDS = ("solve", "measure", "bounds", "train", "compare")
MODULES = sorted(PACKAGE.rglob("*.py"))


def _layer(module: Path | str) -> str:
    return (PACKAGE / module).relative_to(PACKAGE).with_suffix("").parts[0]


def _name(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


BY_NAME = {
    "__init__.py": "the public names, each on first use (PEP 562)",
    "constructions/registry.py": "the families below it, each on first use",
    "errors.py": "a package of an extra",
    "runtime/threads.py": "a package that the process has loaded",
    "training/networks/encoders.py": "a network of the user's own",
}
"""Files that import what is no literal name, and what it is."""


def _imports(module: Path) -> Iterator[str]:
    """The files that a module imports from, also inside its functions, under TYPE_CHECKING, and by
    a name in a text: `import_module("gnc_cli.x")`, or a table of such names."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(module)} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant):
            names = re.findall(r"\Agnc_cli(?:\.\w+)+\Z", str(node.value))
        elif (text := _name_read(node)) and isinstance(text, ast.JoinedStr):
            first = text.values[0]
            folder = PACKAGE.joinpath(*str(getattr(first, "value", "")).split(".")[1:-1])
            yield from map(_name, folder.glob("*.py") if folder != PACKAGE else ())
        for name in names:
            if name.partition(".")[0] == "gnc_cli":
                path = PACKAGE.joinpath(*name.split(".")[1:])
                while not (file := path.with_suffix(".py")).exists():
                    if (file := path / "__init__.py").exists():
                        break
                    path = path.parent
                yield _name(file)


def _name_read(node: ast.AST) -> ast.expr | None:
    """What an import by name imports: `import_module(...)`, `__import__(...)`; else None."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return node.args[0] if function in ("import_module", "__import__", "resolve_name") else None


def test_a_name_that_is_no_literal_is_imported_in_few_files() -> None:
    """Elsewhere the imports could not be read, and would hide a circle."""
    files = set()
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if (name := _name_read(node)) and not isinstance(name, ast.Constant):
                files.add(_name(module))
            if isinstance(node, ast.ImportFrom) and node.module == "importlib":
                assert not any(alias.asname for alias in node.names), _name(module)
    assert files == {*BY_NAME}


@pytest.mark.parametrize(
    ("code", "imported"),
    [
        ("from gnc_cli.console.table import Table", {"console/table.py"}),
        ("def f():\n    from gnc_cli.limits import view", {"limits/view.py"}),
        ("import_module('gnc_cli.limits.view')", {"limits/view.py"}),
        ("importlib.import_module('gnc_cli.limits')", {"limits/__init__.py"}),
        ("KINDS = {'a': ('gnc_cli.limits.result', 'BoundsResult')}", {"limits/result.py"}),
        ("import_module(f'gnc_cli.training.data.{name}')", {"training/data/load.py"}),
        ('"""How gnc_cli.limits.view is written."""', set()),
        ("import_module('hdf5plugin')", set()),
    ],
)
def test_imports_by_name_are_seen(code: str, imported: set[str], tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(code)
    assert imported <= {*_imports(module)} and bool(imported) == bool([*_imports(module)])


def test_every_import_points_down() -> None:
    order = {layer: place for place, layer in enumerate(LAYERS)}
    wrong = {
        _name(module): above
        for module in MODULES
        if (above := {i for i in _imports(module) if order[_layer(i)] < order[_layer(module)]})
    }
    assert not wrong, "these import what is above them"


def test_files_import_each_other_in_no_circle() -> None:
    graph = {_name(module): {*_imports(module)} - {_name(module)} for module in MODULES}
    TopologicalSorter(graph).prepare()  # a CycleError names the files


def test_what_computes_shows_nothing() -> None:
    """Tables, plots and pages belong to the commands; the other files return numbers."""
    importing = {
        _name(module)
        for module in MODULES
        if any(name.startswith("console/") for name in _imports(module))
    }
    shows = {"view.py", "plot.py", "page.py", "pages.py"}
    assert not {
        name
        for name in importing
        if Path(name).name not in shows and _layer(name) not in ("console", "cli", "__main__")
    }


def test_a_call_ends_in_run() -> None:
    """What lies below gets values: only the public function and `run` know what the user said."""
    importing = {
        _name(module): calls
        for module in MODULES
        if (calls := {name for name in _imports(module) if name.endswith("/request.py")})
    }
    commands = {Path(name).parent.as_posix() for calls in importing.values() for name in calls}
    assert importing == {
        f"{folder}/{file}.py": {f"{folder}/request.py"}
        for folder in commands
        for file in ("api", "run")
    }


PARTS = {"CollapseCallback", "GNCMetrics", "main", "run", "run_series", "verdicts", "view"}
"""Names of the parts that each command or integration has."""


def test_a_public_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(_name(module))
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert {*twice} == PARTS, twice


def test_no_folder_is_called_like_a_command() -> None:
    """`from gnc_cli import solve` must give the function, however often."""
    assert not {path.stem for path in PACKAGE.iterdir()} & {*COMMANDS}
    for name in COMMANDS:
        first = getattr(gnc_cli, name)
        importlib.import_module(first.__module__)
        assert getattr(gnc_cli, name) is first and inspect.isfunction(first), name
    assert set(gnc_cli.__all__) <= set(dir(gnc_cli))


def test_a_public_function_returns_one_type() -> None:
    for name in gnc_cli.__all__:
        if inspect.isfunction(function := getattr(gnc_cli, name)):
            kind = inspect.signature(function).return_annotation
            assert str(kind if isinstance(kind, str) else kind.__name__).isidentifier(), name


def test_contributing_names_what_is_there() -> None:
    """Each name of code in its list of changes is one of the package, and each path a file."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    changes = page.partition("## Seven changes")[2].partition("## Words and habits")[0]
    spans = re.findall(r"`([^`]+)`", changes)
    assert spans, "CONTRIBUTING.md has no list of seven changes"
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("test_*.py")]
    bound = {name for file in files for name in bound_names(file.read_text("utf-8"))}
    bound |= {file.name for file in files} | {"field"}  # of dataclasses
    names = {
        match[1] for span in spans if (match := re.fullmatch(r"([\w.]+)(?:\(.*\))?", span, re.S))
    }
    missing = {name for name in names if not {name, name.rpartition(".")[2]} & bound}
    paths = {span for span in spans if "/" in span and re.fullmatch(r"[\w/.]+", span)}
    missing |= {path for path in paths if not any((f / path).exists() for f in (ROOT, PACKAGE))}
    assert sorted(missing) == [], "rename them in CONTRIBUTING.md too"


def test_every_module_says_what_it_is_for() -> None:
    silent = [_name(m) for m in MODULES if not ast.get_docstring(ast.parse(m.read_text("utf-8")))]
    assert not silent


def _python(script: str) -> None:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("package", ["lightning", "torchmetrics", "transformers"])
def test_an_integration_without_its_package_says_how_to_get_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"gnc_cli.integrations.{package}", raising=False)
    with pytest.raises(ImportError, match=rf"needs {package}; pip install 'gnc-cli\[trainers\]'"):
        importlib.import_module(f"gnc_cli.integrations.{package}")


def test_import_gnc_cli_is_light() -> None:
    _python("import sys, gnc_cli\nassert not {'numpy', 'typer', 'torch'} & set(sys.modules)\n")


def test_a_command_loads_no_other() -> None:
    _python(
        "import sys\n"
        "sys.argv[1:] = 'bounds --d 3 --K 4 -q'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 0\n"
        "folders = {name.split('.')[1] for name in sys.modules if name.startswith('gnc_cli.')}\n"
        "assert not {'collapse', 'comparison', 'search', 'training'} & folders, folders\n"
    )


def test_closed_forms_leave_torch_unloaded(tmp_path: Path) -> None:
    _python(
        "import sys\n"
        "from gnc_cli import solve\n"
        f"solve(3, 4, out={str(tmp_path / 'simplex.h5')!r})\n"
        f"solve(3, 6, out={str(tmp_path / 'orthoplex.npz')!r})\n"
        "solve(2, 9, problem='tammes')\n"
        "sys.argv[1:] = 'solve --d 2 --K 5 --json'.split()\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 0\n"
        "assert not {'torch', 'geoopt', 'matplotlib'} & set(sys.modules)\n"
    )
