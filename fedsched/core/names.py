"""Literal types of the names that arguments may have, for editors, which complete them, and for type checkers.

Users can add methods (with their encodings), policies and objectives, so signatures say `PolicyName | str`. The other
names are all there are. A test holds every type equal to its registry.
"""

from __future__ import annotations

from typing import Literal

# ---- names that users add to -----------------------------------------------------------------------------------------
# Searches: `fedsched.search.METHODS`.
MethodName = Literal[
    "auto", "memetic", "ga", "ga-mf", "ga-slowdown", "ga-ea", "pso-ea", "moga", "mpso-fga", "sa", "hc", "random",
    "nsga2",
]  # fmt: skip
# Policies: `fedsched.policies.POLICIES`.
PolicyName = Literal[
    "fcfs", "fcfs-greedy", "fcfs-local", "fcfs-easy", "fcfs-conservative", "fcfs-lookahead", "sjf", "sjf-greedy",
    "sjf-local", "sjf-easy", "sjf-conservative", "sjf-lookahead", "ljf", "ljf-greedy", "ljf-local", "ljf-easy",
    "ljf-conservative", "ljf-lookahead", "smallest", "smallest-greedy", "smallest-local", "smallest-easy",
    "smallest-conservative", "smallest-lookahead", "largest", "largest-greedy", "largest-local", "largest-easy",
    "largest-conservative", "largest-lookahead", "saf", "saf-greedy", "saf-local", "saf-easy", "saf-conservative",
    "saf-lookahead", "laf", "laf-greedy", "laf-local", "laf-easy", "laf-conservative", "laf-lookahead", "xfactor",
    "xfactor-greedy", "xfactor-local", "xfactor-easy", "xfactor-conservative", "xfactor-lookahead", "wfp3",
    "wfp3-greedy", "wfp3-local", "wfp3-easy", "wfp3-conservative", "wfp3-lookahead", "unicef", "unicef-greedy",
    "unicef-local", "unicef-easy", "unicef-conservative", "unicef-lookahead", "f1", "f1-greedy", "f1-local",
    "f1-easy", "f1-conservative", "f1-lookahead", "greedy", "easy", "conservative", "lookahead", "easy-sjf",
    "easy-ljf", "easy-smallest", "easy-largest", "easy-saf", "easy-laf", "easy-xfactor", "easy-wfp3", "easy-unicef",
    "easy-f1", "easy-sjbf", "jpr", "cbs", "mct-strict", "mct-greedy", "mct", "mct-easy", "mct-conservative",
    "mct-lookahead", "min-min-strict", "min-min-greedy", "min-min", "min-min-easy", "min-min-conservative",
    "min-min-lookahead", "max-min-strict", "max-min-greedy", "max-min", "max-min-easy", "max-min-conservative",
    "max-min-lookahead", "sufferage-strict", "sufferage-greedy", "sufferage", "sufferage-easy",
    "sufferage-conservative", "sufferage-lookahead", "least-energy-strict", "least-energy-greedy", "least-energy",
    "least-energy-easy", "least-energy-conservative", "least-energy-lookahead", "list-spt-strict", "list-spt-greedy",
    "list-spt", "list-spt-easy", "list-spt-conservative", "list-spt-lookahead", "list-saf-strict", "list-saf-greedy",
    "list-saf", "list-saf-easy", "list-saf-conservative", "list-saf-lookahead", "list-laf-strict", "list-laf-greedy",
    "list-laf", "list-laf-easy", "list-laf-conservative", "list-laf-lookahead", "list-sqrt-strict", "list-sqrt-greedy",
    "list-sqrt", "list-sqrt-easy", "list-sqrt-conservative", "list-sqrt-lookahead",
]  # fmt: skip
# Metrics that a search can minimise (utilisation: maximise).
ObjectiveName = Literal[
    "makespan", "flow", "mean_wait", "mean_wait_eligible", "max_wait", "mean_response", "mean_slowdown",
    "bounded_slowdown", "weighted_response", "weighted_slowdown", "utilisation", "energy", "busy_energy",
    "idle_energy", "coallocated", "saturated_seconds", "loss_of_capacity", "wasted_node_seconds", "requeues",
    "p95_wait", "cost", "carbon", "peak_watts",
]  # fmt: skip

# ---- parts of policies -----------------------------------------------------------------------------------------------
# Queue orders: `fedsched.policies.ORDERS`.
OrderName = Literal[
    "fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "xfactor", "wfp3", "unicef", "f1",
]  # fmt: skip
# Dispatch rules: `fedsched.policies.DISPATCH`.
DispatchName = Literal[
    "strict", "greedy", "local", "easy", "conservative", "lookahead",
]  # fmt: skip
# Placement rules: `fedsched.policies.PLACEMENTS`.
PlacementName = Literal[
    "fastest", "single", "home", "best_fit", "efficient", "powerful", "big_small", "link_aware",
]  # fmt: skip
# Choices of nodes that jobs share: see `NodeSharing`.
SharingName = Literal[
    "first", "best", "least_loaded", "pack", "spread", "block",
]  # fmt: skip
SharedReservationName = Literal["resources", "nodes"]  # how shared nodes are reserved: see `NodeSharing`

# ---- readings of the model: see `Reading` ----------------------------------------------------------------------------
Submits = Literal["now", "keep"]
SameTime = Literal["batch", "sequential"]
Knowledge = Literal["estimate", "runtime"]
Saturation = Literal["dynamic", "static", "fair"]
Alternatives = Literal["fixed", "smallest_area", "earliest_finish", "free"]

# ---- searches --------------------------------------------------------------------------------------------------------
EncodingName = Literal["blacklist", "assignment"]  # encodings of plans, of methods that have a choice
FirstPlans = Literal["structured", "random"]  # the plans that a search begins with
