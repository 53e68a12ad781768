"""`fedsched info`: say what is in a log or a federation."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from pathlib import Path  # noqa: TC003 the command line reads the types

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import (
    load_federation_file,
    load_workload,
    print_json,
    print_table,
    reading_of,
    say,
)


def command(source: Path, /, *, json: options.Json = False) -> int:
    """Say what is in a log or a federation.

    Parameters
    ----------
    source
        A workload (.swf, .csv, .sacct, .json) or a federation (.toml, .xml), also packed; or the name of a shipped one.

    Examples
    --------
    fedsched info sample
    fedsched info example --json
    """
    from fedsched.io.examples import example_names

    if _is_file_of_federation(source) or (not source.exists() and str(source) in example_names("federation")):
        _federation(source, as_json=json)
    else:
        _workload(source, as_json=json)
    return 0


def _is_file_of_federation(source: Path) -> bool:
    # By its name; a dump of Slurm's, of which both can be read, is a log first.
    from fedsched.io import FEDERATION_FORMATS, FORMATS, plain_suffix

    return plain_suffix(source) in FEDERATION_FORMATS.keys() - FORMATS.keys()


def _federation(source: Path, *, as_json: bool) -> None:
    from fedsched.assumed import are_assumed, assumptions, sentence
    from fedsched.federation import Federation

    federation = load_federation_file(source) if _is_file_of_federation(source) else Federation.example(str(source))
    groups = [(cluster, group) for cluster in federation.clusters for group in cluster.groups]
    figures = [
        {
            "uplink": cluster.uplink,
            "nodes": group.count,
            "speed": group.speed,
            "busy_watts": group.busy_watts,
            "idle_watts": group.idle_watts,
        }
        for cluster, group in groups
    ]
    facts = assumptions(federation)
    if as_json:
        rows = [
            {"cluster": cluster.name, **row, "assumed": [name for name, value in row.items() if are_assumed(value)]}
            for (cluster, _), row in zip(groups, figures, strict=True)
        ]
        said = {"name": federation.name, "description": federation.description, "groups": rows}
        print_json(said | {"assumed": list(facts)})
        return
    say(federation)
    if federation.description:
        say(federation.description.rstrip())
    cells = [
        [cluster.name, *(("—" if value == inf else f"{value:g}") + "*" * are_assumed(value) for value in row.values())]
        for (cluster, _), row in zip(groups, figures, strict=True)
    ]
    print_table("node groups", ("cluster", "uplink B/s", "nodes", "speed", "busy W", "idle W"), cells, align="l")
    if any(are_assumed(*row.values()) for row in figures):
        say("* = assumed: nobody gave it")
    if facts:
        say(sentence(facts))


def _workload(source: Path, *, as_json: bool) -> None:
    workload = load_workload(source, announced=False)
    if as_json:
        print_json(
            {
                "name": workload.name,
                "jobs": len(workload),
                "nodes": workload.nodes,
                "first_submit": float(workload.submit.min()),
                "last_submit": float(workload.submit.max()),
                "load": workload.load() if workload.nodes else None,
                "sites": list(workload.sites),
                "history": list(workload.history),
                **reading_of(workload),
                "recorded": None if (found := workload.recorded) is None else asdict(found),
            }
        )
    else:
        say(workload)
