"""Formats of Batsim and of the tools around it: workloads, machine events, and evalys' jobs.csv.

It reads JSON and returns workloads and downtimes; it writes workloads as JSON, and schedules as CSV for those tools.
"""
