"""Reading and writing of federations as TOML.

A file has a `[[cluster]]` for each cluster, with its `[[cluster.group]]`s, and a `[[pool]]`, `[[partition]]`,
`[[downtime]]`, `[[limit]]` and `[[signal]]` for each of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from fedsched.core.errors import FederationError, TraceError, nearest, shortened
from fedsched.core.values import bytes_a_second, fits, kinds_in_words
from fedsched.io.atomic import atomic_text
from fedsched.io.examples import example_file, federation_path
from fedsched.io.files import STDIN, parse_toml, read_text
from fedsched.model.jobs.assumed import Assumed, are_assumed
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup, Pool
from fedsched.model.machine.limits import Limit
from fedsched.model.machine.partition import Partition
from fedsched.model.power.power_cap import RUN
from fedsched.model.power.switching import STATES, power_saving_named
from fedsched.model.time.downtimes import Downtime
from fedsched.model.time.signal import Signal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

Noun = TypeVar("Noun", NodeGroup, Cluster, Pool, Partition, Downtime, Limit, Signal, Federation)
# Keys of a table that may be given and yet be assumed: the key `assumed` lists them.
_ASSUMABLE: dict[type, tuple[str, ...]] = {NodeGroup: ("speed", "busy_watts", "idle_watts"), Cluster: ("uplink",)}
_ASSUMED = "assumed"
_NEEDED: dict[type, tuple[str, ...]] = {
    **{Federation: ("cluster",), Cluster: ("name", "group"), NodeGroup: ("count",)},
    Pool: ("name", "amount"),
    Partition: ("name", "nodes"),
    Downtime: ("cluster", "begin"),
    Limit: ("of",),
    Signal: ("times", "values", "unit"),
}
# In the file a list has a singular name: each [[cluster]] is one element.
_KEYS = dict(
    clusters="cluster",
    groups="group",
    pools="pool",
    partitions="partition",
    calendar="downtime",
    limits="limit",
    signals="signal",
)


def read_federation(path: str | PathLike[str]) -> Federation:
    r"""Return the federation in a TOML file; an unknown key is an error that offers the nearest known one.

    The name of a shipped federation may be given in place of a file.
    Keys of the file: `name`, `description`, `power`, `cap`, `[[cluster]]`, `[[pool]]`, `[[partition]]`, `[[downtime]]`,
    `[[limit]]`, `[[signal]]`; of a cluster: `name`, `uplink` (bytes/s, or `"1.25G"`), `[[cluster.group]]`; of a group:
    `count`, `speed`, `busy_watts`, `idle_watts`, `name`, `features`, `resources` (`{ cpu = 40, memory = 187000 }`),
    `weight`, `nodes` (`"0-15,20"`), `gears` (`[[0.8, 160.0]]`: shares of the speed, and watts); of a pool: `name`,
    `amount`, `cluster`; of a partition: `name`, `nodes` (`{ north = "all", south = "0-15,20" }`), `max_time` and
    `default_time` (seconds), `min_nodes`, `max_nodes`, `tier`,
    `factor`, `accounts`, `qos`, `default`; of a downtime: `cluster`, `begin`, `end` (seconds), `nodes`, `kind`,
    `known_from`, `end_known`, `name`, `on_running`, `victims`, `seed`; of a limit: `of`, `jobs`, `nodes`, `cpus`,
    `names`; of a signal: `times` (seconds), `values`, `unit`, `cluster`, `until`, `beyond`, `held`, `notes`,
    `forecast` (a table of the same).
    Values left out are assumed, and so are the values that the key `assumed` of a cluster or a group lists:
    `assumed = ["busy_watts", "idle_watts"]`.

    Parameters
    ----------
    path
        The file, or the name of a shipped federation.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io.platforms.toml import read_federation
    >>> written = Path("site.toml").write_text('[[cluster]]\nname = "north"\n[[cluster.group]]\ncount = 16\n')
    >>> read_federation("site.toml").nodes
    16
    """
    path = federation_path(path)
    return federation_of_data(
        _parsed(path), source=str(path), name="stdin" if str(path) == STDIN else Path(path).name.removesuffix(".toml")
    )


def _parsed(path: str | PathLike[str]) -> dict[str, Any]:
    try:
        text = read_text(path)
    except TraceError as error:
        raise FederationError(str(error)) from error
    try:
        return parse_toml(text)
    except (ValueError, RecursionError) as error:  # also numbers with thousands of digits, or too many nested brackets
        raise FederationError(f"{path}: not valid TOML: {shortened(str(error), 200)}.") from error


def read_example_federation(name: str = "example") -> Federation:
    """Return the federation of this name that ships with the package."""
    return read_federation(example_file("federation", name))


def federation_of_data(data: Mapping[str, Any], *, source: str, name: str) -> Federation:
    """Return the federation in the data of a parsed TOML file; `name` is its name if the data have none.

    Raise a FederationError, which begins with `source`, if a key is unknown or missing, or a value invalid.
    """
    data, power = dict(data), data.get("power")
    if power is not None and not isinstance(power, str):
        raise FederationError(f'{source}: power={shortened(repr(power))} must be a text in quotes: "timeout:600".')
    data.pop("power", None)
    _check_table(data, Federation, source)
    clusters = []
    for k, cluster in enumerate(data["cluster"], 1):
        where = f"{source}, cluster {k}"
        if isinstance(cluster, Mapping) and isinstance(uplink := cluster.get("uplink"), str):
            rate = bytes_a_second(uplink)
            cluster = cluster if rate is None else {**cluster, "uplink": rate}
        _check_table(cluster, Cluster, where)
        groups = []
        for g, group in enumerate(cluster["group"], 1):
            groups.append(_group(group, f"{where}, group {g}"))
        clusters.append(_made(Cluster, {**cluster, "group": tuple(groups)}, where))
    pools = []
    for p, pool in enumerate(data.get("pool", ()), 1):
        _check_table(pool, Pool, f"{source}, pool {p}")
        pools.append(_made(Pool, pool, f"{source}, pool {p}"))
    made = {
        "cluster": tuple(clusters),
        "pool": tuple(pools),
        "partition": _partitions(data.get("partition", ()), source),
        "downtime": _downtimes(data.get("downtime", ()), source),
        "limit": _limits(data.get("limit", ()), source),
        "signal": _signals(data.get("signal", ()), source),
    }
    try:
        saving = None if power is None else power_saving_named(power)
    except FederationError as error:
        raise FederationError(f"{source}: {error}") from None
    return _made(Federation, {"name": name, **data, **made, "power": saving}, source)


def _group(table: Any, where: str) -> NodeGroup:
    if isinstance(table, Mapping) and "resources" in table:
        given = table["resources"]
        if not isinstance(given, Mapping) or not all(fits(amount, int) for amount in given.values()):
            raise FederationError(f"{where}: resources must be a table of whole numbers: {{ cpu = 40, gpu = 2 }}.")
        table = {**table, "resources": [[name, amount] for name, amount in given.items()]}
    _check_table(table, NodeGroup, where)
    return _made(NodeGroup, table, where)


def read_partitions(path: str | PathLike[str]) -> tuple[Partition, ...]:
    """Return the partitions in a TOML file that has only [[partition]] tables; anything else is a FederationError."""
    data = _parsed(path)
    if set(data) != {"partition"} or not isinstance(data["partition"], list):
        raise FederationError(f"{path}: a file of partitions holds tables [[partition]], and nothing else.")
    return _partitions(data["partition"], str(path))


def read_downtimes(path: str | PathLike[str]) -> tuple[Downtime, ...]:
    """Return the downtimes in a TOML file that has only [[downtime]] tables; anything else is a FederationError."""
    data = _parsed(path)
    if set(data) != {"downtime"} or not isinstance(data["downtime"], list):
        raise FederationError(f"{path}: a calendar holds tables [[downtime]], and nothing else.")
    return _downtimes(data["downtime"], str(path))


def _downtimes(tables: Sequence[Any], source: str) -> tuple[Downtime, ...]:
    found = []
    for w, table in enumerate(tables, 1):
        _check_table(table, Downtime, f"{source}, downtime {w}")
        found.append(_made(Downtime, table, f"{source}, downtime {w}"))
    return tuple(found)


def _limits(tables: Sequence[Any], source: str) -> tuple[Limit, ...]:
    found = []
    for k, table in enumerate(tables, 1):
        where = f"{source}, limit {k}"
        _check_table(table, Limit, where)
        if isinstance(table.get("names"), list):
            table = {**table, "names": tuple(table["names"])}
        found.append(_made(Limit, table, where))
    return tuple(found)


def _signals(tables: Sequence[Any], source: str) -> tuple[Signal, ...]:
    found = []
    for k, table in enumerate(tables, 1):
        where = f"{source}, signal {k}"
        if isinstance(table, Mapping) and "forecast" in table:
            [forecast] = _signals([table["forecast"]], f"{where}, forecast")
            table = {**table, "forecast": forecast}
        _check_table(table, Signal, where)
        found.append(_made(Signal, table, where))
    return tuple(found)


def _partitions(tables: Sequence[Any], source: str) -> tuple[Partition, ...]:
    found = []
    for p, table in enumerate(tables, 1):
        where = f"{source}, partition {p}"
        if isinstance(table, Mapping) and "nodes" in table:
            nodes = table["nodes"]
            if not isinstance(nodes, Mapping) or not all(isinstance(text, str) for text in nodes.values()):
                raise FederationError(
                    f'{where}: nodes must be a table by cluster: {{ north = "all", south = "0-15" }}.'
                )
            table = {**table, "nodes": [[cluster, text] for cluster, text in nodes.items()]}
        _check_table(table, Partition, where)
        found.append(_made(Partition, table, where))
    return tuple(found)


def _check_table(data: object, noun: type, where: str) -> None:
    """Raise a FederationError if a table has an unknown key, lacks a needed key, or has a value of a wrong type.

    `noun` is the class that the table describes, such as Cluster; its fields are the known keys.
    """
    known = [_KEYS.get(field.name, field.name) for field in fields(noun)] + [_ASSUMED] * (noun in _ASSUMABLE)
    if not isinstance(data, Mapping):
        raise FederationError(f"{where}: {shortened(repr(data))} is not a table; it needs the keys {', '.join(known)}.")
    for key in data:
        if key not in known:
            hint = _meant(key, noun, known)
            raise FederationError(f"{where}: unknown key {key[:80]!r}.{hint} Known: {', '.join(known)}.")
    needed = _NEEDED[noun]
    for key in needed:
        if key not in data:
            raise FederationError(f"{where}: the key {key!r} is missing.")
    for key in set(data) & {_KEYS[field.name] for field in fields(noun) if field.name in _KEYS}:
        if not isinstance(data[key], list):
            raise FederationError(f"{where}: {key!r} must be a list of tables: write [[...]] in place of [...].")
    if _ASSUMED in known:
        named, may = data.get(_ASSUMED, []), _ASSUMABLE[noun]
        if not isinstance(named, list) or not all(one in may for one in named):
            raise FederationError(f"{where}: assumed={shortened(repr(named))} must be a list of {', '.join(may)}.")
    for key, hint in get_type_hints(noun).items():
        if key in data and not fits(data[key], hint):
            raise FederationError(f"{where}: {key}={shortened(repr(data[key]))} must be {kinds_in_words(hint)}.")


def _meant(key: str, noun: type, known: Sequence[str]) -> str:
    """Return a hint for an unknown key, for an error: the table in which it belongs, or the nearest key; else ""."""
    if noun is Cluster and key in ("nodes", "count"):
        return " A cluster's number of nodes is the 'count' of its [[cluster.group]]."
    if noun is Cluster and key in {field.name for field in fields(NodeGroup)}:
        return " It belongs to a [[cluster.group]]."
    near = nearest(key, known)
    return f" Did you mean {near!r}?" if near else ""


def _made(noun: type[Noun], table: Mapping[str, Any], where: str) -> Noun:
    """Return the object of class `noun` that a checked table describes; values listed under `assumed` are so marked."""
    named = table.get(_ASSUMED, ())
    values: dict[str, Any] = {}
    for field in fields(noun):
        key = _KEYS.get(field.name, field.name)
        if key in table:
            value = float(table[key]) if field.type == "float" else table[key]
            values[field.name] = Assumed(value) if key in named else value
    try:
        return noun(**values)
    except FederationError as error:
        raise FederationError(f"{where}: {error}") from None


def write_federation(federation: Federation, path: str | PathLike[str]) -> None:
    """Write a federation to a TOML file that `read_federation` reads back unchanged.

    Parameters
    ----------
    federation, path
        The machine, and the file to write.

    Examples
    --------
    >>> from fedsched.io.platforms.toml import read_federation, write_federation
    >>> write_federation(fs.read_federation("example"), "site.toml")
    >>> read_federation("site.toml") == fs.read_federation("example")
    True
    """
    with atomic_text(path) as out:
        out.write(federation_text(federation))


def federation_text(federation: Federation, *, table: str = "") -> str:
    """Return a federation as TOML text; `table` is the name of a table that contains it, a prefix of its own tables."""

    def named(kind: str) -> str:
        return f"[[{f'{table}.{kind}'.lstrip('.')}]]"

    lines = [f"name = {quoted(federation.name)}"]
    if federation.description:
        lines.append(f"description = {_paragraph(federation.description)}")
    if federation.power is not None:
        lines.append(f"power = {quoted(str(federation.power))}")
    if federation.cap != RUN:
        lines.append(f"cap = {quoted(federation.cap)}")
    for cluster in federation.clusters:
        lines += ["", named("cluster"), f"name = {quoted(cluster.name)}", f"uplink = {float(cluster.uplink)!r}"]
        lines += _assumed_line(cluster)
        for group in cluster.groups:
            lines += ["", named("cluster.group")]
            lines += [f"name = {quoted(group.name)}"] if group.name else []
            lines += [f"count = {int(group.count)}"]
            lines += [f"nodes = {quoted(group.nodes)}"] if group.nodes is not None else []
            lines += [f"{key} = {float(getattr(group, key))!r}" for key in ("speed", "busy_watts", "idle_watts")]
            lines += [f"features = [{', '.join(map(quoted, group.features))}]"] if group.features else []
            if group.resources:
                lines += [f"resources = {{ {', '.join(f'{quoted(name)} = {n}' for name, n in group.resources)} }}"]
            lines += [f"weight = {int(group.weight)}"] if group.weight != 1 else []
            usual = {field.name: field.default for field in fields(NodeGroup)}
            states = {key: value for key in STATES if (value := getattr(group, key)) != usual[key]}
            lines += [f"{key} = {float(value)!r}" for key, value in states.items()]
            lines += [f"gears = {[list(gear) for gear in group.gears]}"] if group.gears else []
            lines += _assumed_line(group)
    for pool in federation.pools:
        lines += ["", named("pool"), f"name = {quoted(pool.name)}", f"amount = {int(pool.amount)}"]
        lines += [] if pool.cluster is None else [f"cluster = {quoted(pool.cluster)}"]
    for partition in federation.partitions:
        lines += ["", named("partition"), *_lines_of(partition)]
    for downtime in federation.calendar:
        lines += ["", named("downtime"), *_lines_of_downtime(downtime)]
    for limit in federation.limits:
        lines += ["", named("limit"), *_lines_of_limit(limit)]
    for signal in federation.signals:
        lines += ["", named("signal"), *_lines_of_signal(signal)]
    return "\n".join(lines) + "\n"


def _lines_of(partition: Partition) -> list[str]:
    nodes = ", ".join(f"{quoted(cluster)} = {quoted(text)}" for cluster, text in partition.nodes)
    lines = [f"name = {quoted(partition.name)}", f"nodes = {{ {nodes} }}"]
    lines += [f"max_time = {float(partition.max_time)!r}"] if math.isfinite(partition.max_time) else []
    lines += [] if partition.default_time is None else [f"default_time = {float(partition.default_time)!r}"]
    lines += [f"min_nodes = {int(partition.min_nodes)}"] if partition.min_nodes > 1 else []
    lines += [] if partition.max_nodes is None else [f"max_nodes = {int(partition.max_nodes)}"]
    lines += [f"tier = {int(partition.tier)}"] if partition.tier != 1 else []
    lines += [] if partition.factor is None else [f"factor = {int(partition.factor)}"]
    for key in ("accounts", "qos"):
        names = getattr(partition, key)
        lines += [f"{key} = [{', '.join(map(quoted, names))}]"] if names else []
    return lines + ["default = true"] * partition.default


def _lines_of_downtime(downtime: Downtime) -> list[str]:
    lines = [f"cluster = {quoted(downtime.cluster)}", f"begin = {downtime.begin!r}"]
    lines += [f"end = {downtime.end!r}"] if math.isfinite(downtime.end) else []
    lines += [f"{key} = {quoted(getattr(downtime, key))}" for key in ("nodes", "kind")]
    if not downtime.usual:
        lines += [f"known_from = {downtime.known_from!r}", f"end_known = {str(downtime.end_known).lower()}"]
    if downtime.on_running != "wait":
        lines += [f"{key} = {quoted(getattr(downtime, key))}" for key in ("on_running", "victims")]
        lines += [f"seed = {downtime.seed}"]
    for key in ("users", "accounts"):
        names = getattr(downtime, key)
        lines += [f"{key} = [{', '.join(map(quoted, names))}]"] if names else []
    return lines + ([f"name = {quoted(downtime.name)}"] if downtime.name else [])


def _lines_of_limit(limit: Limit) -> list[str]:
    lines = [f"of = {quoted(limit.of)}"]
    lines += [f"{key} = {int(value)}" for key, value in limit.most if value is not None]
    return lines + ([f"names = [{', '.join(map(quoted, limit.names))}]"] if limit.names else [])


def _lines_of_signal(signal: Signal) -> list[str]:
    lines = [f"{key} = [{', '.join(map(repr, getattr(signal, key)))}]" for key in ("times", "values")]
    lines += [f"unit = {quoted(signal.unit)}"]
    lines += [f"cluster = {quoted(signal.cluster)}"] if signal.cluster else []
    lines += [f"until = {signal.until!r}", f"beyond = {quoted(signal.beyond)}"]
    lines += [f"notes = [{', '.join(map(quoted, signal.notes))}]"] if signal.notes else []
    lines += [f"held = {signal.held}"] if signal.held else []
    if signal.forecast is not None:
        lines += [f"forecast = {{{', '.join(_lines_of_signal(signal.forecast))}}}"]
    return lines


def _assumed_line(noun: NodeGroup | Cluster) -> list[str]:
    named = [quoted(key) for key in _ASSUMABLE[type(noun)] if are_assumed(getattr(noun, key))]
    return [f"{_ASSUMED} = [{', '.join(named)}]"] if named else []


def quoted(text: str) -> str:
    """Return a text as a TOML string in quotes on one line, with escapes."""
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    text = text.encode("utf-8", "backslashreplace").decode()  # TOML forbids halves of surrogate pairs
    return '"' + "".join(named.get(c) or (f"\\u{ord(c):04x}" if _control(c) else c) for c in text) + '"'


def _paragraph(text: str) -> str:
    """Return a text as a TOML string in quotes; a text of several lines keeps its lines, in triple quotes."""
    if "\n" not in text:
        return quoted(text)
    return '"""\n' + "\n".join(quoted(line)[1:-1] for line in text.split("\n")) + '"""'


def _control(character: str) -> bool:
    return ord(character) < 0x20 or ord(character) == 0x7F
