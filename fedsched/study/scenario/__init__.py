"""Scenarios: jobs, a machine, a policy and a reading of the model, saved together in one file."""

from __future__ import annotations

from fedsched.study.scenario.policy_choice import PolicyChoice
from fedsched.study.scenario.scenario import Scenario
from fedsched.study.scenario.scenario_parts import Log, Machine, Made

__all__ = ["Log", "Machine", "Made", "PolicyChoice", "Scenario"]
