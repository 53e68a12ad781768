"""The statuses of jobs in logs of the Standard Workload Format."""

from __future__ import annotations

# Completed, failed, cancelled, unknown; 2, 3 and 4 are partial records of jobs that have a line of their own.
WHOLE_JOBS = (0, 1, 5, -1)
