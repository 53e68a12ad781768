"""Placement rules: which free nodes, as counts per group, a job takes.

A job and the free nodes come in. The counts go out, or that it does not fit.
"""
