"""Sphinx configuration of the documentation site: make docs

The pages are the Markdown files in this folder, which can also be read without the site. Added when the site
is built: the order of the pages (from the lists in `index.md`), the generated parts of `reference/`
(`make_reference.py`), and the Python API by autodoc.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

import mtlv  # noqa: E402 - from this checkout

API = runpy.run_path(str(DOCS / "make_api.py"))
REFERENCE = runpy.run_path(str(DOCS / "make_reference.py"))

project = "mtlv"
release = mtlv.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist"]
nb_execution_mode = "off"  # notebooks are shown as saved; tests run them
myst_heading_anchors = 4  # the same anchors of headings as on GitHub
default_role = "literal"  # `name` in docstrings is code, as in Markdown
autodoc_member_order = "bysource"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"mtlv {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}  # the sources have no public address

LISTED = re.compile(r"^(?:-|\d+\.) \[([^\]]*)\]\(([^)]*)\.(?:md|ipynb)\)", re.MULTILINE)
CONFIG = re.compile(r"\]\((?:\.\./)+config/([^)]*)\)")
ELSEWHERE = (  # links to files outside this folder: to the page with their text, or as plain text
    (re.compile(r"\]\((?:\.\./)+mtlv/settings/defaults\.yml\)"), "](/reference/config.md)"),
    (re.compile(r"\]\((?:\.\./)+config\)"), "](/reference/examples.md)"),
    (
        re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:experiments|benchmarks|lab)[^)]*)\)"),
        r"\1 (`\2` in the repository)",
    ),
)


def _complete(_: Any, page: str, source: list[str]) -> None:
    """Add the generated text of a page, and replace links to files outside this folder."""
    text = source[0]
    if page in ("index", "decisions/README"):
        text += _contents(text)
    elif page == "api":
        text = API["START"] + _autodoc()
    elif page in REFERENCE["PAGES"]:
        text += "\n" + REFERENCE["PAGES"][page]()
    for there, here in ELSEWHERE:
        text = there.sub(here, text)
    source[0] = CONFIG.sub(lambda found: f"](/reference/examples.md#{re.sub(r'[/.]', '', found[1])})", text)


def _contents(text: str) -> str:
    """Return a table of contents for each section with a list, for the sidebar only: the order of pages."""
    out = []
    for section in re.split(r"^##? ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        entries = "\n".join(f"{name} <{page}>" for name, page in LISTED.findall(section))
        if entries:
            out.append(f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n")
    return "".join(out)


def _autodoc() -> str:
    """Return the sections of `api.md` as directives of autodoc."""
    out = []
    for title, names in API["ORDER"]:
        out.append(f"\n## {title}\n\n```{{eval-rst}}")
        for name in names:
            if isinstance(getattr(mtlv, name), type):
                # Users do not construct most of them; scikit-learn adds a method to its estimators.
                more = "   :members:\n   :exclude-members: set_score_request\n"
                out.append(f".. autoclass:: mtlv.{name}()\n{more}")
            else:
                out.append(f".. autofunction:: mtlv.{name}\n")
        out.append("```")
    return "\n".join(out)


def _without_arguments(_: Any, what: str, __: str, ___: Any, ____: Any, lines: list[str]) -> None:
    """Remove the arguments from docstrings of classes."""
    if what == "class" and "Args:" in lines:
        del lines[lines.index("Args:") :]


def setup(app: Any) -> None:
    app.connect("source-read", _complete)
    app.connect("autodoc-process-docstring", _without_arguments, priority=100)  # before napoleon
