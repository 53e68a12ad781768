"""The method of `Study` that writes an HTML page, in a base class of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.text import ShortRepr

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.study.record import Study


class StudyConvenience(ShortRepr):
    """The base class of `Study` with its method that writes an HTML page."""

    __slots__ = ()

    def report(self: Study, path: str | PathLike[str], *, title: str = "", repeat: str = "") -> None:
        """Write one HTML page about the study.

        Parameters
        ----------
        path
            The file to write (.html).
        title, repeat
            The heading, and the command that repeats the study.
        """
        from fedsched.study.page import write

        write(self, path, title=title, repeat=repeat)
