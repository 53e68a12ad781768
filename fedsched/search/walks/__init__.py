"""Compiled walks from one plan to a better one: descent, per-cluster walks, ruin and recreate.

A walk keeps its current and its best plan in arrays of the caller.
"""
