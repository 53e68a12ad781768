"""What delays or prevents a job's start besides nodes: other jobs, holds, cancellations, think times and slack.

The classes are optional fields of a workload. Functions say what they mean for each job and check schedules for them.
"""
