"""`gnc solve --list-constructions`: the known codes by name."""

from typing import TYPE_CHECKING, Any

from gnc_cli.commands.outputs import Outputs
from gnc_cli.commands.show import show
from gnc_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["show_constructions"]


def show_constructions(asked: dict[str, Any], outputs: Outputs) -> ExitCode:
    """Print the list in the shape asked for.

    Args:
        asked: other options of the command line, by name, that the list has no use for.
        outputs: the shape.

    Raises:
        UsageError: one of them was given.
    """
    given = [name for name, value in asked.items() if value not in (None, False, [], ())]
    if given:
        raise UsageError(f"--list-constructions only lists; drop {', '.join(given)}")
    from gnc_cli.workflows.constructions import list_constructions

    result = list_constructions().to_json()
    show(result, _table(result), outputs)
    return ExitCode.OK


def _table(result: dict[str, Any]) -> "RenderableType":
    """Two lines a code, for names are to be typed again and must not be cut."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines: list[RenderableType] = [Text("Constructions: gnc solve --construction NAME", "bold"), ""]
    for row in result["rows"]:
        proved = "; proved optimal" if row["proven"] else ""
        figures = f"   d = {row['d']}, K = {row['K']}, largest cosine {row['max_cosine']}"
        lines.append(Text.assemble((row["name"], "bold"), figures))
        about = Text.assemble(row["title"], (f" ({row['reference']}{proved})", "dim"))
        lines.append(Padding(about, (0, 0, 0, 4)))
    return Group(*lines)
