"""RLScheduler's own environment, run from a copy of its repository that is at hand; nothing of it is kept here.

Its modules are imported as they are. What they import beside numpy and scipy is replaced: gym by gymnasium, which has
the same classes, and TensorFlow, which stepping does not need, by nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    import numpy as np

    import fedsched as fs


class OwnLoop:
    """An episode of its `HPCEnv` over a stretch of a log, always the first job that it shows."""

    def __init__(self, folder: Path, log: fs.Workload, *, nodes: int, first: int, jobs: int) -> None:
        self.first, self.jobs = first, jobs
        with _imported(folder) as module, tempfile.TemporaryDirectory() as scratch, open(os.devnull, "w") as nobody:
            swf = Path(scratch) / "log.swf"
            swf.write_text(_swf(log, nodes), encoding="utf-8")
            with contextlib.redirect_stdout(nobody):
                self.env: Any = module.HPCEnv()
                self.env.my_init(workload_file=str(swf))
        # It draws where an episode begins; here that is told.
        self.env.np_random = SimpleNamespace(randint=lambda *ends: first)

    def steps(self) -> int:
        """Return how many steps an episode took."""
        env = self.env
        env.reset_for_test(self.jobs, self.first)
        env.build_observation()
        steps, over = 0, False
        while not over:
            _, _, over, _ = env.step_for_test(0)
            steps += 1
        return steps

    @property
    def starts(self) -> np.ndarray:
        """Return when the jobs of the last episode started."""
        import numpy as np

        return np.array([self.env.loads[self.first + k].scheduled_time for k in range(self.jobs)], dtype=float)


def _swf(log: fs.Workload, nodes: int) -> str:
    # Its reader takes whole seconds, and leaves out jobs of none.
    lines = [f"; MaxNodes: {nodes}", f"; MaxProcs: {nodes}"]
    columns = (getattr(log, name).tolist() for name in ("submit", "tasks", "runtime", "estimate"))
    for row, (submit, tasks, runtime, estimate) in enumerate(zip(*columns, strict=True), 1):
        seconds = max(round(runtime), 1), max(round(estimate), 1)
        lines.append(f"{row} {submit:.0f} -1 {seconds[0]} {tasks} -1 -1 {tasks} {seconds[1]} -1 1 -1 -1 -1 -1 -1 -1 -1")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _imported(folder: Path) -> Any:
    # Its module, while its folder and what it needs can be imported; afterwards all is as before.
    stand_ins: dict[str, ModuleType] = {
        "gym": gymnasium,
        "gym.spaces": gymnasium.spaces,
        "gym.utils": gymnasium.utils,
        "tensorflow": ModuleType("tensorflow"),
    }
    before = {name: sys.modules.get(name) for name in (*stand_ins, "HPCSimPickJobs", "job", "cluster")}
    sys.modules.update(stand_ins)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("HPCSimPickJobs")
    finally:
        sys.path.remove(str(folder))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
