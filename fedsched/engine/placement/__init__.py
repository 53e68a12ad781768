"""Placement rules: which free nodes, as counts per group, a job takes.

In come a job and the free nodes. Out go the counts, or that the job does not fit.
"""
