"""Tables of columns for users: pandas if it is installed, else plain dictionaries with the same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def frame_of(columns: Mapping[str, Any], attrs: Mapping[str, Any] | None = None) -> Any:
    """Return columns as a pandas DataFrame; if pandas is not installed, as a dictionary with the same keys.

    `attrs` are facts about the whole table; they become the DataFrame's `attrs`. A dictionary has no place for them.
    """
    try:
        import pandas
    except ImportError:
        return dict(columns)
    frame = pandas.DataFrame(dict(columns))
    frame.attrs.update(attrs or {})
    return frame
