"""Formats of Batsim and of the tools around it: workloads, machine events, and evalys' jobs.csv.

JSON and CSV come in. Workloads and downtimes go out, and schedules are written for those tools.
"""
