"""The gangs' kernels: no more signatures than they may have."""

from __future__ import annotations

import pytest
from gang.test_against_reference import random_case
from support import signatures

from fedsched.gang import simulate


@pytest.mark.compiled
def test_kernels_have_no_more_signatures_than_they_may() -> None:
    """Whatever the system and workload, nothing is compiled more often than it may."""
    for case in range(60):
        workload, system = random_case(case)
        simulate(workload, system, seed=case)
    signatures.check("fedsched.gang", least=1)
