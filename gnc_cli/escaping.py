"""Foreign text (names of classes, snapshots, files) in each output format.

One function per format, which every writer of the format uses. XML escapes its own characters and
takes the text of `visible`; JSON needs nothing.
"""

import html
import re
from typing import Any

_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a meaning in Markdown, HTML or a formula. A single underscore within a
word has none."""
_REFERENCE = re.compile(
    r"@(?=\w)|#(?=\d)|:(?=//|[-+\w]+:)|www(?=\.)|(?<![a-z\d])"
    r"(gh-(?=\d)|(?!\d{1,39}e?(?![a-z\d]))(?=[a-f]*\d)[a-f\d]{7,40}(?![a-z\d]))",
    re.IGNORECASE,
)
"""The first part of texts that GitHub turns into a link or an image, also after a backslash:
`@user`, `#1`, `owner/name#1`, `GH-1`, addresses, `:tada:`; and commits, but not numbers such as
`1234567e-3`."""
_FORMULA = re.compile(r"\s*(?![-+]?[\d.]+$)[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""Beginning of a text that a spreadsheet would compute; a number is not one."""


def visible(text: str) -> str:
    r"""Escape characters that a terminal, a log or XML would obey, hide or refuse.

    >>> print(visible("caf\u00e9 \x1b[2J"))
    café \x1b[2J
    """
    if text.isprintable():
        return text
    return re.sub(r"[^\n]", lambda c: c[0] if c[0].isprintable() else ascii(c[0])[1:-1], text)


def in_html(text: str) -> str:
    """Escape a text for a page or the hover texts of plotly.

    >>> in_html("<img>")
    '&lt;img&gt;'
    """
    return html.escape(visible(text), quote=False)


def in_markdown(text: str) -> str:
    r"""Escape a text for a report in Markdown, as one line, which also fits into a table's cell.

    >>> print(in_markdown("[a](b) max_cosine of @user"))
    \[a\](b) max_cosine of @<!-- -->user
    """
    return _REFERENCE.sub(
        # GitHub looks for references between tags; seven digits are enough for a commit.
        lambda part: re.sub(".{1,6}", r"\g<0><!-- -->", part[0]),
        _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split())),
    )


def in_csv(value: Any) -> Any:
    """Escape a cell: a text that a spreadsheet would compute gets an apostrophe; numbers stay.

    >>> in_csv("=1+1"), in_csv("-1"), in_csv(-1.0)
    ("'=1+1", '-1', -1.0)
    """
    if not isinstance(value, str):
        return value
    return ("'" if _FORMULA.match(value) else "") + visible(value)


def in_prometheus(text: str) -> str:
    """Escape the value of a label, between double quotes."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def in_plot(text: str) -> str:
    """Escape a text for Matplotlib, where dollar signs enclose a formula."""
    return visible(text).replace("$", r"\$")
