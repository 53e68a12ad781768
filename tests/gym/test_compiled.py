"""Compiled code of the environments: no more signatures than there may be."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from support import signatures

import fedsched as fs
from fedsched.gym import SchedulingEnv, SchedulingVectorEnv

pytestmark = pytest.mark.compiled


def test_kernels_have_no_more_signatures_than_they_may() -> None:
    """Single or vector, whole or in stretches, whatever the order and the objective: nothing is compiled twice.

    With pools once more, as by all who simulate, and on shared nodes; a copy of an environment is nothing new.
    """
    workload = fs.Workload(submit=[0, 0, 5], tasks=[2, 4, 1], runtime=[5, 3, 2])
    for federation in (fs.Federation.of(3, 2), fs.Federation.homogeneous(4)):
        SchedulingEnv(workload, federation, order="wfp3", objective="flow").reset()
        SchedulingVectorEnv(workload, federation, num_envs=2, jobs=2, waiting_places=1, running_places=0).reset(seed=1)
    tokens = replace(fs.Federation.of(3, 2), pools=(fs.Pool("licence", 2),))
    env = SchedulingEnv(replace(workload, pools={"licence": [1, 2, 0]}), tokens)
    env.reset()
    copy.deepcopy(env).reset()
    shared = fs.Federation((fs.Cluster("A", (fs.NodeGroup(4, resources={"cpu": 2}),)),))
    for federation in (shared, replace(shared, calendar=(fs.Downtime("A", 0.0, 9.0, "1"),))):
        env = SchedulingEnv(workload, federation, sharing="first", objective="flow")
        env.reset()
        copy.deepcopy(env).reset()
        SchedulingVectorEnv(workload, federation, num_envs=2, jobs=2, sharing="best", objective="flow").reset(seed=1)
    signatures.check("fedsched.gym", "fedsched.engine", "fedsched.model.schedule.metrics", least=12)
