"""The days of a real Slurm that are kept in tests/slurm/recorded: what its scheduler here, or a rule, makes of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from golden.hashes import digest, of_schedule
from slurm import memory_logs, packing_days, recorded_priorities, sizes_days, sleeping_days, test_packing, test_sizes
from slurm.logs import LOGS, LONG_LOGS
from slurm.own_days import on_slurm
from slurm.played_logs import Played
from slurm.played_memory import Played as PlayedOnShared
from slurm.recording import Recording
from slurm.replay import federation_of, shares_nodes, workload_of

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Cases = Iterator[tuple[str, Callable[[], str]]]

RECORDED = Path(__file__).parents[1] / "slurm" / "recorded"


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json") if ".promised" not in path.name)


def recordings(room: str, *policies: str) -> Cases:
    """Give the days of a folder: by Slurm's own scheduler with the recording's clocks and its own, and by policies."""
    folder = RECORDED / room
    for name in _names(folder):
        for said, words in (("its clocks", {}), ("own clocks", {"own_clocks": True}),
                            ("timed", {"own_clocks": True, "rate": 100})):  # fmt: skip
            yield f"{name}, {said}", partial(_on_slurm, folder / name, words)
        for policy in policies:
            yield f"{name}, {policy}", partial(_by_rules, folder / name, policy)


def _on_slurm(path: Path, words: dict[str, Any]) -> str:
    return of_schedule(on_slurm(Recording.read(path), **words), metrics=False)


def _by_rules(path: Path, policy: str) -> str:
    recording = Recording.read(path)
    sharing = "block" if shares_nodes(recording) else None
    schedule = fs.simulate(workload_of(recording), federation_of(recording), policy, t0=0.0, sharing=sharing)
    return of_schedule(schedule, metrics=False)


def logs() -> Cases:
    """Give the logs that were played on nodes that are given whole."""
    for name in (*LOGS, *LONG_LOGS):
        yield f"{name}, its clocks", partial(_played, name)
        yield f"{name}, own clocks", partial(_played, name, with_clocks=False)
        yield f"{name}, ensemble", partial(_played, name, with_clocks=False, ensemble=3)


def _played(name: str, **words: Any) -> str:
    schedule = Played.read(name).on_ours(**words)
    return f"{of_schedule(schedule, metrics=False)} {digest(*(run.start for run in schedule.runs))}"


def shared_logs() -> Cases:
    """Give the logs that were played on nodes that jobs share."""
    for name in memory_logs.LOGS | memory_logs.SMALL:
        yield f"{name}, its clocks", partial(_played_on_shared, name)
        yield f"{name}, own clocks", partial(_played_on_shared, name, with_clocks=False)
        yield f"{name}, no memory", partial(_played_on_shared, name, memory=False)


def _played_on_shared(name: str, **words: bool) -> str:
    return of_schedule(PlayedOnShared.read(name).on_ours(**words), metrics=False)


def sizes_and_packing() -> Cases:
    """Give where single jobs are put on nodes of several sizes, and on shared ones."""
    for name in sizes_days.DAYS:
        yield f"sizes, {name}", partial(_sizes, name)
    for name in packing_days.DAYS:
        for choice in ("block", "pack"):
            yield f"packing, {name}, {choice}", partial(_packed, name, choice)


def _sizes(name: str) -> str:
    with TemporaryDirectory() as folder:
        return digest("|".join(test_sizes.on_ours(name, sizes_days.recorded(name), Path(folder))))


def _packed(name: str, choice: str) -> str:
    return of_schedule(test_packing.simulated(packing_days.recorded(name), choice), metrics=False)


def sleeping() -> Cases:
    """Give the days on which nodes went off, by our Timeout: starts, and when nodes go off and boot."""
    for name in sleeping_days.DAYS:
        yield name, partial(_slept, name)


def _slept(name: str) -> str:
    found = sleeping_days.played_day(name)
    starts = [one.ours for one in found.starts.starts]
    return digest(starts, [one.our_end for one in found.starts.starts], found.ours["off"], found.ours["boot"])


def priorities() -> Cases:
    """Give priorities, factors and use at each tick of the days on which these were recorded."""
    for name in recorded_priorities.DAYS:
        yield name, partial(_priorities, name)
    yield "kth", lambda: digest(*(list(one) for one in recorded_priorities.kth()))


def _priorities(name: str) -> str:
    day = recorded_priorities.Recorded(name)
    parts: list[Any] = []
    for kept, packed, _ in recorded_priorities.replay(day):
        parts += [kept, packed.value, packed.tree.usage, packed.tree.factor]
    return digest(*parts)


KINDS: dict[str, Callable[[], Cases]] = {
    "days": partial(recordings, "", "fcfs", "easy", "conservative"),
    "parameters": partial(recordings, "parameters"),
    "watched": partial(recordings, "watched", "easy"),
    "logs": logs,
    "shared logs": shared_logs,
    "sizes and packing": sizes_and_packing,
    "sleeping": sleeping,
    "priorities": priorities,
}
