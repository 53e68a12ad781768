"""Placement rules: each chooses the free nodes that a job takes, as a number per node group.

A rule gets a job and the free nodes. It returns whether the job fits, and fills in the numbers if it does.
"""
