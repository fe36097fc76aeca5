"""README as a program: its code blocks, and the live help that one of them shows.

`python -m tests.readme` writes the live help into README.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["README", "Block", "blocks", "environment", "live_help"]

README = Path(__file__).parent.parent / "README.md"

_BLOCK = re.compile(r"(?:<!-- (.*?) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

_COLOURS = {"FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH"}
"""These ask for colours even into a pipe, or set the width of Typer's help."""


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    note: str
    """Of the HTML comment above: `not run: WHY`, or `tested with: OPTIONS` for solve and train."""

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """Shell commands with the output shown below each; none of it in a `bash` block."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if self.language == "bash":
                found.append((line, []))
            elif line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line.rstrip())
        return found


def blocks(text: str, *languages: str) -> list[Block]:
    """The fenced blocks of a Markdown text in these languages."""
    found = [Block(language, body, note) for note, language, body in _BLOCK.findall(text)]
    return [block for block in found if block.language in languages]


def environment() -> dict[str, str]:
    """A plain terminal of 100 columns, with the `gnc` of this interpreter first on the path."""
    clean = {k: v for k, v in os.environ.items() if k not in _COLOURS}
    path = os.pathsep.join([str(Path(sys.executable).parent), clean.get("PATH", "")])
    fixed = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    return clean | fixed | {"PATH": path}


def live_help(command: str) -> list[str]:
    """What `gnc ... --help` prints, without the blank margin."""
    args = [sys.executable, "-m", "gnc_cli", *command.split()[1:]]
    run = subprocess.run(args, env=environment(), capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in run.stdout.splitlines()]
    return "\n".join(lines).strip("\n").splitlines()


def _with_live_help(text: str) -> str:
    for block in blocks(text, "console"):
        for command, _ in block.commands:
            if command.endswith("--help"):
                body = "\n".join([f"$ {command}", *live_help(command)]) + "\n"
                text = text.replace(f"```console\n{block.text}```", f"```console\n{body}```")
    return text


if __name__ == "__main__":
    README.write_text(_with_live_help(README.read_text(encoding="utf-8")), encoding="utf-8")
