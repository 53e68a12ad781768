"""Jobs: the workload, one row a job, with what each job may say beyond its nodes and times.

Columns and plain numbers come in. Checked, read-only tables go out.
"""
