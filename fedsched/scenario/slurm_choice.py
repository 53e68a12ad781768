"""Slurm's own scheduler by the words of a scenario's policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.slurm import Slurm


def slurm_of(given: Mapping[str, Any]) -> Slurm:
    """Return the policy of a slurm.conf, with what else was said of it."""
    from fedsched.slurm import Slurm

    if "conf" not in given:
        raise ValueError("policy slurm needs a conf, the path of a slurm.conf (fedsched: --conf).")
    return Slurm(**given)
