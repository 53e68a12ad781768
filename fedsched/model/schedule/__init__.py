"""Schedules: when and on which nodes each job runs, and what is measured of that.

Starts, ends and node counts come in. Metrics, node numbers, power over time and the runs that were lost go out.
"""
