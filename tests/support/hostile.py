"""Names that nobody gives a site but those who mean harm, and how a test sees that none of them got through."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

# What each tries: terminals' escapes (7 and 8 bit), text that runs backwards, hides or ends a string or a line, tags,
# XML's and JSON's ends, rich's markup, matplotlib's formulas and its private labels, shells and spreadsheets.
NAMES = {
    "colour": "\x1b[31mred\x1b]0;title\x07",
    "c1": "\x9b2J\x85next",
    "bidi": "user\u202egnp.exe\u2066",
    "zero": "nul\0byte",
    "backspace": "real\b\b\b\bfake\x7f",
    "separators": "a\u2028b\u2029c",
    "hidden": "a\u200bb\ufeff\U000e0041",
    "no character": "a\ufffe\uffff",
    "script": "</script><script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "cdata": "]]><!--",
    "entity": "&amp;&#x1b;",
    "markup": "[red]x[/red] [link=file:///]y",
    "formula": r"$\frac$ $x^$",
    "private": "_nolegend_",
    "percent": "%s{0}{name}",
    "cell": "=cmd|' /C calc'!A0",
    "long": "x" * 3000,
}
# What no reader of a one-line name lets through, but a name made in Python or written in TOML may hold.
WILD = {"lines": "two\nlines\r\rthree\ttabs", "half": "half \ud800 pair"}
EVERY = NAMES | WILD

# Signs that unicodedata calls formats and that are seen, or lay out a script's own letters and notes: they stay.
LAYS_OUT = ((0x600, 0x605), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x110BD, 0x110BD),
            (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A))  # fmt: skip
# Signs that it does not call so, and that show nothing: no characters, and where tags and selectors hide text.
UNSEEN = ((0x2065, 0x2065), (0xFDD0, 0xFDEF), (0xE0000, 0xE0FFF))


def acts(sign: str) -> bool:
    """Return whether a terminal or a browser would act on a sign, lines and joiners among them."""
    point = ord(sign)
    if any(first <= point <= last for first, last in UNSEEN) or point & 0xFFFE == 0xFFFE:
        return True
    formats = unicodedata.category(sign) == "Cf" and not any(first <= point <= last for first, last in LAYS_OUT)
    return formats or unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")


def acting(text: str, *, lines: str = "\n\t") -> list[str]:
    """Return the signs of a text that a terminal or a browser would act on, by name; those of `lines` may stand."""
    return [ascii(sign) for sign in text if acts(sign) and sign not in lines and sign not in "\u200c\u200d"]


class Tags(HTMLParser):
    """The tags and attributes of a page, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
