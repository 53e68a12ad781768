"""What tests of the report share: its data as its script reads them, and waiting for its drawings."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np

KINDS = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "i4": "<i4", "f4": "<f4", "f8": "<f8"}


def unpacked(columns: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of a packed text, as the page's script reads them."""
    blob, at, found = zlib.decompress(base64.b64decode(columns["bytes"])), 0, {}
    for name, kind, length in columns["columns"]:
        found[name] = np.frombuffer(blob, dtype=KINDS[kind], count=length, offset=at)
        assert at % found[name].itemsize == 0
        at += found[name].nbytes
    assert at == len(blob)
    return found


def data_of(text: str) -> dict[str, Any]:
    """Return the data that a page's script reads."""
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    assert block
    return json.loads(block[1])


def all_drawn(page: Any) -> None:
    """Wait until a page in a browser has drawn what was asked of it: at most one drawing a frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
