"""One side of bench_paired.py: a process that runs plain problems by name as it is asked, a line of JSON each.

It imports the fedsched that PYTHONPATH names, whichever commit that is of, and asks for what has long been there only.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fedsched as fs
from fedsched.engine.codes import Dispatch
from fedsched.model.reading import Reading
from fedsched.simulate import prepare

try:
    from fedsched.engine.pack.problem import pack
    from fedsched.engine.run.batch import Evaluator
except ImportError:  # a tree from before the folders
    from fedsched.engine.batch import Evaluator  # type: ignore[no-redef]

    from fedsched.engine.pack import pack  # type: ignore[no-redef]

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = tuple[float, Any]  # processor seconds, and what came out

SPEEDS = (1.0, 1.5, 2.0, 0.7)
PLANNED = 200  # jobs of a plan
KNOWN = 29  # metrics that both trees have: later ones stand behind
EVALUATIONS = 10  # plans for each job of a plan: in the batch at once, and of the search


def simulated(log: fs.Workload, nodes: int, policy: str) -> Answer:
    """Return how long the loop of a simulation takes, and all starts."""
    run = prepare(log, fs.Federation.homogeneous(nodes), policy)
    begun = time.process_time()
    run.advance()
    return time.process_time() - begun, run.schedule().start


def clusters(nodes: int) -> fs.Federation:
    """Return four clusters of different speeds, each with a quarter of the nodes."""
    groups = [(fs.NodeGroup(-(-nodes // 4), speed, 200, 90),) for speed in SPEEDS]
    return fs.Federation(tuple(fs.Cluster(f"C{k}", group, 1e9) for k, group in enumerate(groups)))


def evaluated(log: fs.Workload, nodes: int) -> Answer:
    """Return how long a batch of plans takes, and what all of them are worth."""
    one = Evaluator(pack(log, clusters(nodes), reading=Reading()))
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(len(log)) for _ in range(EVALUATIONS * len(log))])
    begun = time.process_time()
    table = one(orders, dispatch=Dispatch.GREEDY)
    return time.process_time() - begun, table[:, :KNOWN]


def searched(log: fs.Workload, nodes: int) -> Answer:
    """Return how long a search of so many evaluations takes, and the starts of the best plan."""
    begun = time.process_time()
    given = {"objectives": "makespan", "evaluations": EVALUATIONS * len(log), "baselines": ("fcfs",), "seed": 1}
    found = fs.optimize(log, clusters(nodes), **given)
    return time.process_time() - begun, found.best().start


def cases(log: fs.Workload, nodes: int) -> dict[str, Callable[[], Answer]]:
    """Return what is run, by name."""
    few = log.head(PLANNED)
    few = fs.Workload(submit=np.zeros(len(few)), tasks=few.tasks, runtime=few.runtime, estimate=few.estimate)
    found = {policy: partial(simulated, log, nodes, policy) for policy in ("fcfs", "greedy", "easy")}
    found["conservative"] = partial(simulated, log.head(len(log) // 4), nodes, "conservative")
    return {**found, "batch of plans": partial(evaluated, few, nodes), "search": partial(searched, few, nodes)}


def main() -> None:
    """Answer each line with the case's name by its seconds, and by what of its results one can compare."""
    tree, path, nodes = sys.argv[1:]
    if not Path(fs.__file__).is_relative_to(tree):
        raise SystemExit(f"fedsched is of {Path(fs.__file__).parent}, not of {tree}.")
    with np.load(path) as columns:
        log = fs.Workload(**columns)
    known = cases(log, int(nodes))
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        seconds, result = known[line.strip()]()
        print(json.dumps([seconds, hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()]), flush=True)


if __name__ == "__main__":
    main()
