"""Sphinx: the site is built from build/docs/source, where scripts/docs.sh puts pages and pictures."""

import os
import re
import sys

from sphinx.ext.napoleon import Config, NumpyDocstring

root = os.environ["ANTLER_SOURCE"]
sys.path.insert(0, os.path.join(root, "python"))

import antler  # noqa: E402

project = "Antler"
author = "the Antler authors"
copyright = author
release = version = antler.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}  # .rst: the C reference, made from the header
exclude_patterns = []
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "code"  # `name` in a docstring
html_theme = "furo"
html_title = f"Antler {release}"
html_static_path = ["static"]
html_css_files = ["katex/katex.min.css", "site.css"]
html_js_files = ["katex/katex.min.js", "katex/contrib/auto-render.js"]
mathjax_path = "math.js"  # the extension marks the formulas; KaTeX draws them
mathjax_options = {"defer": "defer"}
# Links to files of the source tree are for readers of the tree; on the site they stand as text.
suppress_warnings = ["myst.xref_missing"]


LONGEST_SIGNATURE = 12  # parameters of a class; more cannot be read in one paragraph, and their descriptions follow


def shorten_signature(app, what, name, thing, options, signature, returned):
    """Of a long signature, show no more than the parameters before those that must be named."""
    if what != "class" or not signature or signature.count(", ") < LONGEST_SIGNATURE:
        return None
    positional, star, _ = signature.partition("*, ")
    return (positional if star else "(") + star + "...)", returned


def read_docstring(app, what, name, thing, options, lines):
    """Sections of a class as numpydoc writes them; what is indented after a colon is an example."""
    if what == "class":
        lines[:] = str(NumpyDocstring(lines[:], Config(), app, what, name, thing, options)).split("\n")
    for above, blank, below in zip(range(len(lines)), lines[1:], lines[2:]):
        if (
            re.search("[^:]:$", lines[above])
            and not lines[above].startswith(" ")
            and not blank
            and below.startswith("    ")
        ):
            lines[above] += ":"


def setup(app):
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", read_docstring)
