"""The Standard Workload Format: logs of the Parallel Workloads Archive and of others.

It reads lines of 18 or more fields and returns cleaned workloads, with a count of everything left out; it writes
workloads as logs.
"""

from __future__ import annotations

# Completed, failed, cancelled, unknown; 2, 3 and 4 are partial records of jobs that have a line of their own.
WHOLE_JOBS = (0, 1, 5, -1)
