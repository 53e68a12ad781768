"""Notes on parts of a machine that were read from a file of another program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Noun = TypeVar("Noun", covariant=True)


class Noted(tuple[Noun, ...]):
    """A tuple with notes of a few words each; it equals the plain tuple, and is written like it.

    Notes say what was left out, and what was assumed because the file does not say it.
    """

    left_out: tuple[str, ...]
    assumed: tuple[str, ...]

    def __new__(cls, nouns: Iterable[Noun] = (), *, left_out: Iterable[str] = (), assumed: Iterable[str] = ()) -> Self:
        """Return the tuple with its notes."""
        made = super().__new__(cls, nouns)
        made.left_out, made.assumed = tuple(left_out), tuple(assumed)
        return made


GIVEN_WHOLE = "given whole here"  # the end of notes on nodes that jobs share; dropped if jobs do share nodes


def left_out_of(nouns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return what the file holds and the model lacks."""
    return nouns.left_out if isinstance(nouns, Noted) else ()


def assumed_of(nouns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return what was assumed because the file does not say it."""
    return nouns.assumed if isinstance(nouns, Noted) else ()
