"""`gnc solve --list-constructions`: the known codes by name."""

from typing import TYPE_CHECKING, Any

from gnc_cli.commands.outputs import Outputs
from gnc_cli.commands.show import show
from gnc_cli.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["show_constructions"]


def show_constructions(*, json: bool, csv: bool, jsonl: bool, quiet: bool) -> ExitCode:
    """Print the list in the shape asked for.

    Raises:
        UsageError: two shapes at once.
    """
    from gnc_cli.workflows.constructions import list_constructions

    outputs = Outputs.read(json=json, csv=csv, jsonl=jsonl, quiet=quiet)
    result = list_constructions().to_json()
    show(result, _table(result), outputs)
    return ExitCode.OK


def _table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "d", "K", "max_cosine"):
        table.add_column(name, no_wrap=True, justify="left" if name == "name" else "right")
    table.add_column("what it is, and its source", overflow="fold")
    for row in result["rows"]:
        proved = "; proved optimal" if row["proven"] else ""
        about = Text.assemble(row["title"], (f" ({row['reference']}{proved})", "dim"))
        table.add_row(row["name"], row["d"], row["K"], row["max_cosine"], about)
    return table
