"""Writing pictures to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import OutputError

if TYPE_CHECKING:
    from os import PathLike


def save(figure: Any, path: str | PathLike[str]) -> None:
    """Write a figure as SVG, PNG or PDF; the same figure gives the same bytes."""
    import matplotlib as mpl

    from fedsched.io.atomic import atomic_bytes

    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("svg", "png", "pdf"):
        raise OutputError(f"Cannot write {path}: a chart must be .svg, .png or .pdf.")
    still = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with mpl.rc_context({"svg.hashsalt": "fedsched", "hatch.linewidth": 0.5}), atomic_bytes(path) as out:
        figure.savefig(out, format=kind, dpi=110, metadata=still)
