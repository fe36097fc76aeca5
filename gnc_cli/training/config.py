"""`--config run.toml`: the arguments of `train` from a file."""

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import Path, declared


def with_config(
    config: Path | None, function: Callable[..., Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call, completed by those of a file.

    Args:
        config: TOML, a key for each argument: `epochs = 20`, `milestones = [10, 15]`.
        function: whose parameters the file may name.
        asked: the call's own arguments, which win; None and False are not asked for.

    Raises:
        DataError: the file cannot be read or is no TOML.
        UsageError: a key is not a parameter.
    """
    name = os.fspath(config or "")
    try:
        with open(name, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise DataError(f"cannot read {name!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{name!r} is not TOML: {error}") from error
    known = [parameter for parameter in declared(function) if parameter != "config"]
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; gnc train --help lists them"
            raise UsageError(f"{name!r} sets {key!r}, which is no option of gnc train{hint}")
    given = {key: value for key, value in asked.items() if value not in (None, False)}
    return {**asked, **found, **given}
