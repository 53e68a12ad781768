"""The names of the rules, in the order of their numbers in the kernel."""

from __future__ import annotations

GRIDS = ("multi_site", "load", "random")
DISPATCHES = ("least_remaining", "olb", "jsq", "ald", "jseq")
ROUTINGS = ("shortest_waiting", "idle_first", "fastest", "dispatch")
LOCAL_SITES = ("grid", "random", "any")
DISCIPLINES = ("fcfs", "afcfs", "ljfs", "lxf", "sxf")
ORDERS = ("sort", "head")
CLAIMS = ("hold", "skip")
PREEMPTS = ("never", "site", "system")
PREEMPTED = ("restart", "resume")
