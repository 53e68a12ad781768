"""The file of a rolling run: all that the loop and the planner know at an instant, written whole or not at all."""

from __future__ import annotations

import io
import json
import time
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.io.sealed import SealedFile, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.engine.simulation import Simulation
    from fedsched.rolling.policy import Rolling

EVERY_SECONDS = 10.0
MARK = b"fedsched rolling checkpoint 2\n"


class RunFile:
    """The checkpoint of one run; with no path it does nothing."""

    def __init__(self, policy: Rolling, run: Simulation) -> None:
        path = policy.checkpoint
        self._file = None if path is None else SealedFile(Path(path), MARK, "a rolling run")
        self._key = "" if path is None else _key(policy, run)
        self._saved_at = time.monotonic()

    def resume(self, run: Simulation) -> dict[str, float] | None:
        """Set the run to what was saved and return the planner's memory; None where there is nothing yet."""
        if self._file is None or (content := self._file.read()) is None:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            saved = {name: file[name] for name in file.files}
        if str(saved["key"]) != self._key:
            raise self._file.refusal(
                "the checkpoint of another run (other jobs, federation, settings or policy)", others=True
            )
        for name, array in _arrays(run):
            array[...] = saved[name]
        dispatch, placement = saved["rules"].tolist()
        run.plan = run.plan._replace(dispatch=dispatch, placement=placement)
        memory: dict[str, float] = json.loads(str(saved["memory"]))
        return memory

    def save_sometimes(self, run: Simulation, memory: dict[str, float]) -> None:
        """Save where the last time is long enough ago."""
        if self._file is not None and time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(run, memory)

    def save(self, run: Simulation, memory: dict[str, float]) -> None:
        """Save now; the file is never half-written."""
        if self._file is None:
            return
        content: dict[str, NDArray[np.generic]] = dict(_arrays(run))
        content["rules"] = np.array([run.plan.dispatch, run.plan.placement])
        content["memory"] = np.array(json.dumps(memory))
        content["key"] = np.array(self._key)
        table = io.BytesIO()
        np.savez(table, allow_pickle=False, **content)
        self._file.write(table.getbuffer())
        self._saved_at = time.monotonic()


def _arrays(run: Simulation) -> Iterator[tuple[str, NDArray[np.generic]]]:
    # What changes while a run goes on: the loop's state, and the caps of the plan at hand.
    yield "caps", run.plan.caps
    yield "cap_row", run.plan.cap_row
    yield from _fields("state", run.state)


def _fields(name: str, value: object) -> Iterator[tuple[str, NDArray[np.generic]]]:
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for field in value._fields:
            if field != "backfill":  # the queue itself: a planner's run has no other order to backfill by
                yield from _fields(f"{name}.{field}", getattr(value, field))


def _key(policy: Rolling, run: Simulation) -> str:
    own = (run.plan.caps, run.plan.cap_row, *astuple(run.running()))
    return key_of(repr(replace(policy, checkpoint=None)), (*run.problem, *run.problem.groups, *own))
