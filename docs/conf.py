"""The documentation site, built by `make docs` without a network: pages in Markdown, reference from docstrings."""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.ext.napoleon import Config, NumpyDocstring
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("MPLBACKEND", "Agg")

from fedsched import __version__  # noqa: E402 found by the line above, installed or not

project = "fedsched"
author = "The fedsched authors"
copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
nb_execution_mode = "off"  # notebooks are shown with the outputs that are stored in them
NOTEBOOKS = ROOT / "notebooks"
html_theme = "furo"
html_title = f"fedsched {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
smartquotes = False  # `--json` would become a dash and a word

default_role = "literal"
add_module_names = False
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# Annotations name types of other projects, whose inventories would have to be downloaded, and aliases of our own;
# `_by_last_name` links those that are documented here. Every other reference must lead somewhere.
nitpick_ignore_regex = [("py:class", ".*")]
GLOSSARY = "reference/glossary"
# Terms that pages use in other senses too: only links to the glossary explain them.
EVERYDAY = {
    "site", "pool", "gear", "limit", "signal", "task", "shape", "head", "placement", "reservation", "search", "plan",
    "feature", "unit", "window", "reading", "knowledge", "package", "cluster", "policy", "schedule", "evaluation",
    "front", "gap", "eligible", "estimate", "partition", "twin", "replay", "caps", "slack", "workload",
}
_NUMPYDOC = Config(napoleon_use_param=False, napoleon_use_rtype=False, napoleon_attr_annotations=False)


def setup(app: Sphinx) -> None:
    """Add what this site needs beyond Sphinx: mathematics without scripts, links from bare type names, notebooks."""
    app.connect("config-inited", _take_notebooks)
    app.connect("source-read", _link_notebooks)
    app.connect("include-read", _gather_changes)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.connect("autodoc-process-docstring", _numpydoc)
    app.connect("autodoc-skip-member", _skip_former_names)
    app.connect("missing-reference", _by_last_name)
    app.connect("doctree-resolved", _explain_terms)


def _take_notebooks(app: Sphinx, config: Any) -> None:
    """Copy the notebooks into the folder of pages, which Sphinx does not leave."""
    folder = Path(app.srcdir) / "notebooks"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.ipynb"):
        if not (NOTEBOOKS / old.name).exists():
            old.unlink()
    for path in NOTEBOOKS.glob("*.ipynb"):
        copy = folder / path.name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.write_bytes(path.read_bytes())


def _link_notebooks(app: Sphinx, docname: str, source: list[str]) -> None:
    """Lead links between pages and notebooks, right in a clone, to where both are in the site."""
    if docname.startswith("notebooks/"):
        source[0] = source[0].replace("](../docs/", "](../")
    else:
        source[0] = re.sub(r"\]\(\.\./\.\./notebooks/(\w+)\.(py|ipynb)\)", r"](../notebooks/\1.ipynb)", source[0])


def _gather_changes(app: Sphinx, path: Path, docname: str, content: list[str]) -> None:
    """Put the files of changes/ into the changelog, which lacks them until a release."""
    if path.name == "CHANGELOG.md":
        content[0] = runpy.run_path(str(ROOT / "tools" / "changelog.py"))["whole"]()


def _skip_former_names(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out former names of methods: what they give has another name."""
    now = getattr(getattr(obj, "fget", obj), "__name__", name)
    return True if what == "class" and now != name and isinstance(obj, FunctionType | property) else None


def _numpydoc(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Translate a docstring in numpydoc's form; of a property, what stands before a colon is no type."""
    if what == "data":  # a table has no docstring of its own, and its type's is none of our business
        lines.clear()
    if what not in ("property", "attribute", "data"):
        lines[:] = NumpyDocstring(lines, _NUMPYDOC, app, what, name, obj, options).lines()


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    _skip()


def _block(writer: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    writer.body.append(f'<div class="math">{number}{tex2mathml(node.astext(), as_block=True)}</div>')
    _skip()


def _skip() -> None:
    from docutils.nodes import SkipNode

    raise SkipNode


def _explain_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Show a glossary term's meaning as hover text: at links to it, and where a page first uses it."""
    from docutils import nodes

    if docname in ("index", GLOSSARY):
        return
    terms = _glossary(app.env)
    for link in doctree.findall(nodes.reference):
        if GLOSSARY in link.get("refuri", "") and link.astext().lower() in terms:
            link["reftitle"] = terms[link.astext().lower()]
    unseen = {term: meaning for term, meaning in terms.items() if term not in EVERYDAY}
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.paragraph):
            continue
        parts = re.split(rf"\b({'|'.join(map(re.escape, unseen))})\b", text, flags=re.IGNORECASE)
        made: list[nodes.Node] = []
        for part in parts:
            meaning = unseen.pop(part.lower(), None)
            made.append(nodes.Text(part) if meaning is None else nodes.abbreviation(part, part, explanation=meaning))
        if len(made) > 1:
            text.parent.replace(text, made)
        if not unseen:
            return


def _glossary(env: BuildEnvironment) -> dict[str, str]:
    """Return the meaning of each term in the glossary, without the link at its end; the longest terms come first."""
    from docutils import nodes

    found = {}
    for item in env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        meaning = next(iter(item.findall(nodes.paragraph))).astext()
        for term in item.findall(nodes.term):
            found[term.astext().lower()] = meaning.rpartition("(")[0].rstrip()
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def _by_last_name(app: Sphinx, env: BuildEnvironment, node: Any, content: Any) -> Any:
    """Return a link to the one documented object of this last name; annotations are written unqualified."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    last = target.rpartition(".")[2]
    objects = env.domains.python_domain.objects
    found = {name: entry for name, entry in objects.items() if name.rpartition(".")[2] == last and not entry.aliased}
    if len(found) != 1:
        return None
    name, entry = next(iter(found.items()))
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)
