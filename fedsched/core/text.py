"""Safe output of foreign text: names of sites and files, headers, quotations in errors.

All text from files and users passes one of these functions before it is shown, so that a terminal, a browser, an XML
parser or the layout of a picture never acts on it. Characters that act are written as Python's escapes.
"""

from __future__ import annotations

import html as _html
import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Controls (C0 and C1), characters that reverse, hide or join text, line and paragraph separators, halves of surrogate
# pairs, and code points that are no characters, which XML forbids. Zero-width joiners belong to letters and stay.
_NO_CHARACTERS = "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
_ACTS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    f"\ud800-\udfff\ufdd0-\ufdef\U000e0000-\U000e0fff{_NO_CHARACTERS}"
)
_IN_LINES = re.compile(f"[{_ACTS}]")
_IN_A_LINE = re.compile(f"[\t\n{_ACTS}]")
LONGEST_NAME = 48  # characters of a name in a picture

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"  # in a text, without a sign


def one_line(text: object) -> str:
    """Return text for one line, such as a name; all that a terminal would act on is escaped."""
    return _spelled(_IN_A_LINE, str(text))


def terminal(text: object) -> str:
    """Return text for a terminal: lines and tabs stay; all else that a terminal would act on is escaped."""
    return _spelled(_IN_LINES, str(text))


def html(text: object) -> str:
    """Return text for a place in HTML, between tags or in the quotes of an attribute; its lines stay."""
    return _html.escape(terminal(text))


def html_table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in HTML, its text escaped: a row of column names, and rows of cells."""

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(header, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "–": "--", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
})  # fmt: skip


def latex(text: object) -> str:
    """Return text for a place in LaTeX: on one line, with every sign that TeX would act on escaped."""
    return one_line(text).translate(_LATEX)


def picture_name(name: object) -> str:
    """Return a name as a label of a picture: cut to 48 characters, with what Matplotlib or XML would act on escaped."""
    text = one_line(name)
    text = text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
    # Matplotlib sets text between two dollars as a formula, and omits labels that begin with _ from legends.
    return f"{' ' * text.startswith('_')}{text}".replace("$", r"\$")


def counted(count: int, noun: str, ending: str = "s") -> str:
    """Return a count with its noun: 1 job, 2 jobs; `ending` is what makes the noun a plural."""
    return f"{count:,} {noun}{'' if count == 1 else ending}"


def first_of(names: Iterable[object], *, most: int = 5) -> str:
    """Return the first few names, with an ellipsis if there are more: 3, 5, 8, 9, 12, …"""
    first = list(islice(names, most + 1))
    return ", ".join([*map(str, first[:most]), *["…"] * (len(first) > most)])


def _spelled(acts: re.Pattern[str], text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return acts.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def seconds_text(seconds: float) -> str:
    """Return seconds as text for a table's cell: exact, and whole numbers without a point."""
    return str(int(seconds)) if seconds.is_integer() and seconds < 1e15 else repr(seconds)


def duration(seconds: float) -> str:
    """Return seconds as text in the largest unit (d, h, min) of which there are at least two, else in s."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


class ShortRepr:
    """A base class with a short `repr`: the name of the class, and the first line of its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self).splitlines()[0]}>"
