"""What is to be said of a part of the machine that came from a file of another program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Noun = TypeVar("Noun", covariant=True)


class Noted(tuple[Noun, ...]):
    """Nouns like any others, with facts of a few words each; equal to the bare ones, and written as those.

    Facts are of what was left out, and of what was assumed where the file says nothing.
    """

    left_out: tuple[str, ...]
    assumed: tuple[str, ...]

    def __new__(cls, nouns: Iterable[Noun] = (), *, left_out: Iterable[str] = (), assumed: Iterable[str] = ()) -> Self:
        """Return the nouns with what is to be said of them."""
        made = super().__new__(cls, nouns)
        made.left_out, made.assumed = tuple(left_out), tuple(assumed)
        return made


GIVEN_WHOLE = "given whole here"  # so ends what is said of nodes that jobs share, and says nothing where they do


def left_out_of(nouns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return what their file holds and the model does not."""
    return nouns.left_out if isinstance(nouns, Noted) else ()


def assumed_of(nouns: tuple[Any, ...]) -> tuple[str, ...]:
    """Return what was assumed where their file says nothing."""
    return nouns.assumed if isinstance(nouns, Noted) else ()
