"""The Standard Workload Format: logs of the Parallel Workloads Archive and of others.

Lines of 18 or more fields come in. Cleaned workloads go out, with a count of everything left out, and workloads are
written as logs.
"""
