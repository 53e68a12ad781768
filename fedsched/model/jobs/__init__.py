"""Jobs: the workload, which is a table with one row per job, and what a job may ask for beyond its nodes and times.

The classes take columns of plain values, check them, and keep them as read-only tables.
"""
