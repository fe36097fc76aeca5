"""Text of others (names of classes, snapshots, files) in each format that is written.

One function per format; whatever writes the format uses it. XML escapes its own signs, and carries
what `visible` gives; JSON needs nothing.
"""

import html
import re
from typing import Any

_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")
"""Signs that Markdown, HTML or a formula would act on. An underscore within a word does nothing."""
_REFERENCE = re.compile(
    r"@(?=\w)|#(?=\d)|:(?=//|[-+\w]+:)|www(?=\.)|(?<![a-z\d])"
    r"(gh-(?=\d)|(?!\d{1,39}e?(?![a-z\d]))(?=[a-f]*\d)[a-f\d]{7,40}(?![a-z\d]))",
    re.IGNORECASE,
)
"""The first part of what GitHub makes a link or a picture, also after a backslash: `@user`, `#1`,
`owner/name#1`, `GH-1`, addresses, `:tada:`; and commits. Numbers as `1234567e-3` are none."""
_FORMULA = re.compile(r"\s*(?![-+]?[\d.]+$)[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet would compute; a number is none."""


def visible(text: str) -> str:
    r"""Escape what a terminal, a log or XML would obey, hide or refuse.

    >>> print(visible("caf\u00e9 \x1b[2J"))
    café \x1b[2J
    """
    if text.isprintable():
        return text
    return re.sub(r"[^\n]", lambda c: c[0] if c[0].isprintable() else ascii(c[0])[1:-1], text)


def in_html(text: str) -> str:
    """For a page, or the hover texts of plotly.

    >>> in_html("<img>")
    '&lt;img&gt;'
    """
    return html.escape(visible(text), quote=False)


def in_markdown(text: str) -> str:
    r"""For a report: one line of plain words, also in a cell of a table.

    >>> print(in_markdown("[a](b) max_cosine of @user"))
    \[a\](b) max_cosine of @<!-- -->user
    """
    return _REFERENCE.sub(
        # GitHub looks for references between tags; of a commit seven digits are enough.
        lambda part: re.sub(".{1,6}", r"\g<0><!-- -->", part[0]),
        _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split())),
    )


def in_csv(value: Any) -> Any:
    """For a cell: a text that a spreadsheet would compute gets an apostrophe; numbers stay.

    >>> in_csv("=1+1"), in_csv("-1"), in_csv(-1.0)
    ("'=1+1", '-1', -1.0)
    """
    if not isinstance(value, str):
        return value
    return ("'" if _FORMULA.match(value) else "") + visible(value)


def in_prometheus(text: str) -> str:
    """For the value of a label, between double quotes."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def in_picture(text: str) -> str:
    """For Matplotlib, to which dollar signs are the ends of a formula."""
    return visible(text).replace("$", r"\$")
