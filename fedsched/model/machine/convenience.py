"""Methods of `Federation` that read and write files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.model.machine.federation import Federation


class FederationConvenience:
    """Methods of `Federation` that read and write files."""

    __slots__ = ()

    @classmethod
    def example(cls, name: str = "example") -> Federation:
        """Return a federation that ships with the package: `example`, or a teaching one after the thesis's figures."""
        from fedsched.io.platforms.toml import read_example_federation

        return read_example_federation(name)

    @classmethod
    def read(cls, path: str | Path) -> Federation:
        """Return the federation in a file: see `fedsched.io.read_federation`."""
        from fedsched.io import read_federation

        return read_federation(path)

    def write(self: Federation, path: str | Path) -> None:
        """Write the federation to a TOML file; `read` returns it unchanged."""
        from fedsched.io.platforms.toml import write_federation

        write_federation(self, path)
