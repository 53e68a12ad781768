"""`fedsched bench`: the field's instances, best known plans and proofs, and what methods make of them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Any, Literal

from fedsched.cli import options  # noqa: TC001
from fedsched.cli.shared import print_json, print_table, say
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.instances import Document


def command(
    action: Literal["list", "show"],
    /,
    *names: str,
    family: str | None = None,
    logs: Path | None = None,
    out: Path | None = None,
    json: options.Json = False,
) -> int:
    """List the field's instances; show one, or write it to a file whose hash everybody else gets too.

    Parameters
    ----------
    action
        list: all instances, with their hashes. show: one of them, by name.
    names
        The instances that are meant; of `list`, all if none is named.
    family
        Only instances of this kind: planted, package, month, windows, partitions, dependencies, log.
    logs
        The folder of the archive's logs: instances that are made from them are listed and shown too.
    out
        Write the instance that is shown to this file (.json): canonical text, whose sha256 is the instance's.

    Examples
    --------
    fedsched bench list --family planted
    fedsched bench show example-50 --out example-50.json
    """
    return {"list": _list, "show": _show}[action](names, family, logs, out, as_json=json)


def _chosen(names: Sequence[str], family: str | None, logs: Path | None) -> list[Document]:
    from fedsched import instances

    wanted = names or instances.names(logs=logs is not None)
    found = [instances.load(name, logs=logs) for name in wanted]
    families = {document.family for document in found}
    if family is not None and family not in families:
        from fedsched.errors import unknown_name

        raise unknown_name("family", family, families)
    return [document for document in found if family in (None, document.family)]


def _told(document: Document) -> dict[str, Any]:
    data = document.data
    return {
        "name": document.name,
        "version": data["version"],
        "family": document.family,
        "machine": data["machine"],
        "jobs": len(document.workload),
        "objectives": list(document.asks),
        "about": data["about"],
        "sha256": document.sha256,
    }


def _list(names: Sequence[str], family: str | None, logs: Path | None, out: Path | None, *, as_json: bool) -> int:
    if out is not None:
        raise ValueError("--out writes the instance that `bench show` shows; list has none.")
    found = [_told(document) for document in _chosen(names, family, logs)]
    if as_json:
        print_json(found)
        return 0
    rows = [
        (one["name"], one["version"], one["family"], one["machine"], one["jobs"], " ".join(one["objectives"]),
         one["sha256"][:12])
        for one in found
    ]  # fmt: skip
    columns = ("name", "version", "family", "machine", "jobs", "objectives", "sha256")
    print_table(counted(len(rows), "instance"), columns, [tuple(map(str, row)) for row in rows], align="lrllrll")
    return 0


def _show(names: Sequence[str], family: str | None, logs: Path | None, out: Path | None, *, as_json: bool) -> int:
    from fedsched.cli.shared import check_output
    from fedsched.io.atomic import atomic_text

    if len(names) != 1 or family is not None:
        raise ValueError("bench show: name one instance, e.g. fedsched bench show example-50.")
    check_output(out, (".json",), what="an instance")
    [document] = _chosen(names, None, logs)
    if out is not None:
        with atomic_text(out) as stream:
            stream.write(document.text)
    if as_json:
        print_json(_told(document))
        return 0
    say(document)
    say(document.federation)
    say(document.workload)
    if out is not None:
        say(f"Written: {out}")
    return 0
