"""What keeps a job from starting besides nodes: other jobs, holds, earliest starts, cancellations, slack.

Columns of a workload come in. Checked conditions and the earliest start of each job go out.
"""
