"""The methods of `Federation` that read and write files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.model.machine.federation import Federation


class FederationConvenience:
    """Base class of `Federation` with the methods that read and write files."""

    __slots__ = ()

    @classmethod
    def example(cls, name: str = "example") -> Federation:
        """Return the federation of this name that ships with the package: `example`, or a small teaching example."""
        from fedsched.io.platforms.toml import read_example_federation

        return read_example_federation(name)

    @classmethod
    def read(cls, path: str | Path) -> Federation:
        """Return the federation in a file: see `fedsched.read_federation`."""
        from fedsched.io import read_federation

        return read_federation(path)

    def write(self: Federation, path: str | Path) -> None:
        """Write the federation to a TOML file, from which `read` returns an equal federation."""
        from fedsched.io.platforms.toml import write_federation

        write_federation(self, path)
