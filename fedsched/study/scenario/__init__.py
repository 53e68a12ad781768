"""Scenarios: which jobs, on what, under which policy and reading, as one noun with a file of its own."""

from __future__ import annotations

from fedsched.study.scenario.policy_choice import PolicyChoice
from fedsched.study.scenario.scenario import Scenario
from fedsched.study.scenario.scenario_parts import Log, Machine, Made

__all__ = ["Log", "Machine", "Made", "PolicyChoice", "Scenario"]
