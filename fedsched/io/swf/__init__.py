"""The Standard Workload Format: logs of the Parallel Workloads Archive and of others.

It reads lines of 18 or more fields and returns cleaned workloads, with a count of everything left out; it writes
workloads as logs.
"""
