"""When and how a file was made: the attributes `created` and `provenance`."""

import datetime
import json
import os
import re
import time
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.records import plain

# A path that starts a word: after a blank, a quote or an equals sign, but not inside a URL.
_FOLDERS = re.compile(r"""(?<![^\s='"])/(?:[^\s/'"]+/)*(?=[^\s/'"])""")


def creation_time() -> str:
    """Now in UTC, ISO 8601 to the second; SOURCE_DATE_EPOCH, where set, stands in for the clock.

    Raises:
        UsageError: SOURCE_DATE_EPOCH is not a number of seconds.
    """
    text = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        seconds = time.time() if text is None else int(text)
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"SOURCE_DATE_EPOCH is {text!r}; expected seconds since 1970, for example 1700000000"
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def provenance_text(provenance: dict[str, Any]) -> str:
    """`provenance` as JSON text with sorted keys, absolute paths cut down to their last part.

    >>> provenance_text({"seed": 0, "command": "gnc solve --init /home/ada/a.h5"})
    '{"command": "gnc solve --init a.h5", "seed": 0}'
    """
    return json.dumps(_portable(plain(provenance)), sort_keys=True, allow_nan=False)


def parse_provenance(text: Any) -> dict[str, Any]:
    """The dictionary behind `provenance_text`; empty where the text is none of ours."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def _portable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        return value
    if os.path.isabs(value) and "\n" not in value:
        return os.path.basename(value.rstrip("/"))
    return _FOLDERS.sub("", value)
