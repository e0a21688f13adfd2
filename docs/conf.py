"""Sphinx configuration of the site, which `make docs` builds.

Pages are MyST Markdown. Before each build `reference_pages` writes the reference of commands, Python and tables from
the code.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
os.environ["NUMBA_DISABLE_JIT"] = "1"  # kernels are read here, not run: nothing is compiled
warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)  # kernels count modulo 2^64
sys.path.insert(0, str(HERE.parent))  # the folder `docs` is a package of the checkout

from bgdata.version import __version__  # noqa: E402
from docs import plain_text, reference_pages  # noqa: E402

project = "bgdata"
author = "the bgdata developers"
copyright = "the bgdata developers. Code: MIT. Tables: CC0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
root_doc = "index"
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False  # else click's, in its own markup
autodoc_mock_imports = ["onnx", "onnxruntime", "torch"]  # extras
# names in annotations may be those of NumPy, DuckDB or Python, whose sites are not asked; whatever a page refers to
# itself (pages, terms, functions, tables) must exist
suppress_warnings = ["ref.python"]  # a bare name in an annotation may be that of several classes: no link is right then
nitpick_ignore_regex = [(r"py:(class|obj|data|exc|attr|meth|mod)", r".*")]

html_theme = "pydata_sphinx_theme"
html_title = "bgdata"
html_sidebars = {"index": [], "glossary": []}  # pages without others below them
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["bgdata.css"]
html_theme_options = {
    "logo": {"text": "bgdata"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app: object) -> None:
    """Write the generated pages, and convert docstrings and help texts from plain text."""
    reference_pages.write_all(HERE / "reference")
    app.connect("autodoc-process-docstring", plain_text.of_docstring)
    app.connect("autodoc-skip-member", plain_text.skips_member)
    app.connect("sphinx-click-process-description", plain_text.of_help)
    app.connect("sphinx-click-process-options", plain_text.of_options)
