"""Scenarios: which jobs, on what, under which policy and reading, as one noun with a file of its own."""

from __future__ import annotations

from fedsched.scenario.noun import Scenario
from fedsched.scenario.parts import Log, Machine, Made
from fedsched.scenario.policy_choice import PolicyChoice

__all__ = ["Log", "Machine", "Made", "PolicyChoice", "Scenario"]
