"""Jobs: the workload, one row per job, and what each job may ask for beyond its nodes and times.

Columns and plain numbers come in. Checked, read-only tables go out.
"""
