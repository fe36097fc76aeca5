"""The house: every import points down, every module says what it is, and the front door opens."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "gnc_cli"

DOMAIN = {"codes", "limits", "metrics", "networks"}
BELOW: dict[str, set[str]] = {
    "__init__": set(),
    "__main__": {"cli"},
    "cli": {"commands"},
    "commands": {"options", "parsing", "workflows"},
    "options": {"parsing"},
    "parsing": set(),
    "workflows": {*DOMAIN, "io", "numerics", "plots"},
    **{room: {"numerics"} for room in DOMAIN},
    "numerics": set(),
    "io": set(),
    "plots": set(),
    "schemas": set(),
    "results": {"errors"},
    "errors": set(),
}
"""For each room those it may import, besides itself and the ground floor."""

GROUND = {"", "errors", "results"}
"""Errors, results and the package itself (its version): anyone may stand on these."""

COMMANDS = {"solve", "measure", "bounds", "train", "compare"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def _room(module: Path) -> str:
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


def _name(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def _imports(tree: ast.AST) -> Iterator[str]:
    """First names below gnc_cli of every import, those inside functions too; `` for the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "gnc_cli":
            # `from gnc_cli import options` takes a room, `import __version__` the package's own.
            names = [f"gnc_cli.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = [node.module or ""]
        else:
            continue
        for name in names:
            top, _, rest = name.partition(".")
            if top == "gnc_cli":
                room = rest.partition(".")[0]
                yield "" if room.startswith("__") else room


def _tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def test_arrows_point_down() -> None:
    assert len(MODULES) > 300
    homeless = {_name(module) for module in MODULES if _room(module) not in BELOW}
    assert not homeless, "these have no place in the house yet"
    wrong = {}
    for module in MODULES:
        room = _room(module)
        if too_high := {*_imports(_tree(module))} - BELOW[room] - GROUND - {room}:
            wrong[_name(module)] = too_high
    assert not wrong, "these import what is above them"


def test_the_house_has_no_stairs_up() -> None:
    """The table itself is a hierarchy: nobody is above and below another."""

    def under(room: str, seen: tuple[str, ...] = ()) -> set[str]:
        assert room not in seen, seen
        return {room}.union(*(under(lower, (*seen, room)) for lower in BELOW[room]))

    for room in BELOW:
        assert under(room) <= set(BELOW)


def test_only_workflows_open_files_and_draw() -> None:
    assert {room for room, below in BELOW.items() if below & {"io", "plots"}} == {"workflows"}


def test_every_module_says_what_it_is_and_gives() -> None:
    silent, without = set(), set()
    for module in MODULES:
        tree = _tree(module)
        if not ast.get_docstring(tree):
            silent.add(_name(module))
        if len(tree.body) > 1 and "__all__" not in {t for n in tree.body for t in _targets(n)}:
            without.add(_name(module))
    assert not silent, "no docstring"
    assert not without, "no __all__"


def _targets(node: ast.stmt) -> list[str]:
    found = [*node.targets] if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in found if isinstance(target, ast.Name)]


def test_no_room_carries_the_name_of_a_command() -> None:
    # It would hide the function of that name in `gnc_cli` once imported.
    assert not COMMANDS & {path.stem for path in PACKAGE.iterdir()}


def _python(script: str) -> None:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_functions_stay_functions() -> None:
    _python(
        "import gnc_cli, importlib, inspect\n"
        "for name in sorted(set(gnc_cli.__all__) - {'__version__', 'GNCMetrics'}):\n"
        "    first = getattr(gnc_cli, name)\n"
        "    importlib.import_module(f'gnc_cli.workflows.{name}')\n"
        "    importlib.import_module(f'gnc_cli.commands.{name}')\n"
        "    exec(f'from gnc_cli import {name} as second')\n"
        "    assert inspect.isfunction(first) and second is first, name\n"
        "    assert first.__module__ == f'gnc_cli.workflows.{name}'\n"
        "from gnc_cli import GNCMetrics\n"
        "assert inspect.isclass(GNCMetrics) and GNCMetrics is gnc_cli.GNCMetrics\n"
    )


def test_the_front_door_is_light() -> None:
    _python("import sys, gnc_cli\nassert not {'numpy', 'typer', 'torch'} & set(sys.modules)\n")


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


def test_help_leaves_torch_unloaded() -> None:
    _python(
        "import sys\n"
        "sys.argv[1:] = ['--help']\n"
        "from gnc_cli.cli import main\n"
        "try: main()\n"
        "except SystemExit as e: assert e.code == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
