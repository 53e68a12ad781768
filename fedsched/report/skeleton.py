"""The HTML around a report: head, style, tables, and a security policy that lets browsers load nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import html as escape
from fedsched.core.text import terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCRIPTS = ("base", "bars", "axes", "gantt", "strips", "front", "progress", "energy", "jobs", "main")


def asset(name: str) -> str:
    """Return the text of the file `name` in the folder fedsched/report, such as a script or a template."""
    return (files("fedsched.report") / name).read_text(encoding="utf-8")


def filled(name: str, **parts: str) -> str:
    """Return the text of a template file in fedsched/report; `parts`, not escaped, replace its $placeholders."""
    return Template(asset(name)).substitute(parts)


def script() -> str:
    """Return the page's script: all script files joined within one function, so that their names stay private."""
    return "(() => {\n" + '"use strict";\n' + "\n".join(asset(f"{name}.js") for name in SCRIPTS) + "\n})();\n"


def document(title: str, body: str, *, code: str = "", pictures: bool = False) -> str:
    """Return a whole HTML page with the common style and a security policy.

    Parameters
    ----------
    title
        The window's title; it is escaped here.
    body
        HTML, which must be escaped already.
    code
        A script. The page's security policy lets only this one run, whatever is in the body.
    pictures
        Whether the body has SVG pictures with their own styles.
    """
    style = asset("page.css")
    styles = "'unsafe-inline'" if pictures else f"'sha256-{digest(style)}'"
    scripts = f"script-src 'sha256-{digest(code)}'; " if code else ""
    policy = f"default-src 'none'; {scripts}style-src {styles}; base-uri 'none'; form-action 'none'"
    end = f"<script>{code}</script>\n" if code else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style></head>
<body>
{body}
{end}</body></html>
"""


def chapters(sections: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Return two HTML texts: the links to a page's sections, and the sections themselves.

    `sections` has each section's name and HTML by key; a section with empty HTML is left out of both.
    """
    shown = {key: part for key, part in sections.items() if part[1]}
    links = "".join(f'<a href="#{key}">{name}</a>' for key, (name, _) in shown.items())
    parts = "\n".join(f'<section id="{key}">{body}</section>' for key, (_, body) in shown.items())
    return f'<nav aria-label="Sections">{links}</nav>', parts


def digest(text: str) -> str:
    """Return the SHA-256 of a text in base64, as security policies name it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def data_block(value: object) -> str:
    """Return a value as JSON in a script element; "<", ">" and "&" are escaped so that no text can end it."""
    text = json.dumps(finite(value), separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="data">{text}</script>'


def finite(value: object) -> object:
    """Return a value that JSON can hold: None for NaN and infinity, and texts without control characters."""
    match value:
        case dict():
            return {str(key): finite(one) for key, one in value.items()}
        case list() | tuple():
            return [finite(one) for one in value]
        case np.ndarray() | np.generic():
            return finite(value.tolist())
        case float() if not math.isfinite(value):
            return None
        case str():
            return terminal(value)
        case _:
            return value


class Markup(str):
    """A string that is HTML already, so that `table` does not escape it."""

    __slots__ = ()


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True, marked: int = -1
) -> str:
    """Return an HTML table with row names in the first column; cells are text, or Markup.

    Parameters
    ----------
    caption, head, rows
        The texts.
    numbers
        Whether all columns but the first have numbers, which are aligned at the right.
    marked
        The index of a row to highlight; -1: none.
    """

    def cell(text: str) -> str:
        return text if isinstance(text, Markup) else escape(text)

    def line(k: int, row: Sequence[str]) -> str:
        first, *others = row
        cells = "".join(f"<td>{cell(text)}</td>" for text in others)
        marks = ' class="marked"' if k == marked else ""
        return f'<tr{marks}><th scope="row">{cell(first)}</th>{cells}</tr>'

    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = "".join(line(k, row) for k, row in enumerate(rows))
    top = f"<thead><tr>{heads}</tr></thead>" if any(head) else ""
    kind = ' class="numbers"' if numbers else ""
    return scrolled(caption, f"<table{kind}><caption>{escape(caption)}</caption>{top}<tbody>{body}</tbody></table>")


def scrolled(label: str, inner: str) -> str:
    """Return the HTML `inner` in a box of its own, which scrolls sideways if the screen is too narrow for it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{inner}</div>'
