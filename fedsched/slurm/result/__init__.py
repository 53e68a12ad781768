"""What Slurm's scheduler makes of a workload: a schedule that says which pass started each job.

Starts and clocks come in. Schedules go out.
"""
