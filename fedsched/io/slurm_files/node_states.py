"""Slurm's states of nodes, also as `sinfo` and `sacctmgr` shorten them, and whether a node in a state takes jobs."""

from __future__ import annotations

import re

# OUTAGE: the node is gone. DRAIN: it takes no new jobs, but its running jobs go on. OPEN: it takes jobs, at the latest
# when it has been powered up.
OUTAGE = {
    "DOWN", "ERROR", "INVAL", "INVALID", "INVALID_REG", "UNK", "UNKNOWN", "FUTR", "FUTURE", "REBOOT", "REBOOT_ISSUED",
    "REBOOT_REQUESTED", "NO_RESPOND", "NO_RESP", "NOT_RESPONDING",
}  # fmt: skip
DRAIN = {"DRAIN", "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILG", "FAILING", "MAINT", "MAINTENANCE"}
OPEN = {
    "ALLOC", "ALLOCATED", "BLOCK", "BLOCKED", "BOOT", "CLOUD", "COMP", "COMPLETING", "DYNAMIC_NORM", "EXTERNAL", "IDLE",
    "MIX", "MIXED", "NPC", "PERFCTRS", "PLANNED", "PLND", "POW_DN", "POW_UP", "POWER_DOWN", "POWER_UP", "POWERED_DOWN",
    "POWERING_DOWN", "POWERING_UP", "RES", "RESERVED", "RESUME", "RESV", "UNDRAIN",
}  # fmt: skip
# Marks after a state: * does not answer, ^ is rebooting, $ is in maintenance; the other marks close nothing.
MARKS = {"*": "outage", "^": "outage", "$": "drain"}
_STATE = re.compile(r"([A-Z_]+(?:\+[A-Z_]+)*)([*~#!%$@^\-]*)")


def kind_of(state: str) -> str | None:
    """Return "outage" or "drain" for a state of a node, "" if the node takes jobs, None if it is no state of Slurm."""
    match = _STATE.fullmatch(state.strip().upper())
    if match is None:
        return None
    words = set(match[1].split("+"))
    if not words <= OUTAGE | DRAIN | OPEN:
        return None
    kinds = {"outage"} if words & OUTAGE else {"drain"} if words & DRAIN else {MARKS.get(mark, "") for mark in match[2]}
    return next((kind for kind in ("outage", "drain") if kind in kinds), "")
