"""Schedules: when and on which nodes each job runs, and metrics of this.

Starts, ends and node counts come in. Metrics, node numbers, power over time and lost runs go out.
"""
