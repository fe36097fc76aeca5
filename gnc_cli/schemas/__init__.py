"""JSON Schemas (draft 2020-12) of what `--json` prints, one a command."""

import json
from importlib import resources
from typing import Any

__all__ = ["load"]


def load(command: str) -> dict[str, Any]:
    """The schema of a command's JSON.

    Args:
        command: such as `solve`.

    Raises:
        FileNotFoundError: there is none of that name.

    Example:
        >>> load("solve")["title"]
        'gnc solve --json'
    """
    text = resources.files(__name__).joinpath(f"{command}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
