"""What delays or prevents a job's start besides nodes: other jobs, holds, cancellations, think times and slack.

The classes are optional fields of a workload. Functions say what a field means for each job, and whether schedules
respect it.
"""
