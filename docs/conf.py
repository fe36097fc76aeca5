"""The site: `make site` builds it into `build/site`, the page on Python from the program."""

import inspect
import shutil
import sys
from enum import StrEnum
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import gnc_cli

sys.path.insert(0, str(Path(__file__).parent))
import table_of_codes

project = "gnc"
author = "The gnc developers"
copyright = "the gnc developers, MIT licence"
release = version = gnc_cli.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["gallery"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
smartquotes = False  # `--d` stays `--d`

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["lightning", "torchmetrics", "transformers"]
napoleon_use_rtype = False
# A command is copied without its prompt and its output.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_copy_empty_lines = False

html_theme = "pydata_sphinx_theme"
html_title = "gnc"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_context = {"default_mode": "auto"}
# Pages without neighbours need no list of them.
html_sidebars = {
    page: []
    for page in (
        "index",
        "install",
        "gallery",
        "results",
        "paper-figures",
        "comparison",
        "cite",
        "changelog",
    )
}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "gnc", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _plain_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str, returned: str
) -> tuple[str, None] | None:
    """Parameters with their defaults alone: types and ranges stand in the text."""
    if what not in ("function", "method", "class"):
        return None
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    bare = [
        p.replace(
            annotation=inspect.Parameter.empty,
            default=str(p.default) if isinstance(p.default, StrEnum) else p.default,
        )
        for p in found.parameters.values()
    ]
    shown = [p for p in bare if p.name != "self"]
    return str(inspect.Signature(shown)), None


def _write_table_of_codes(app: Sphinx, error: Exception | None) -> None:
    """Put the data of the table of codes into the site, and DataTables as `itables` ships it."""
    if error is None and app.builder.name == "html":
        table_of_codes.write(app.outdir / "reference" / "table-of-codes")
        datatables = distribution("itables").locate_file("itables/html")
        shutil.copytree(datatables, app.outdir / "_static" / "itables", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _plain_signature)
    app.connect("build-finished", _write_table_of_codes)
