"""Compiled walks from one plan to a better one: descent, per-cluster walks, ruin and recreate.

They take a plan, and return the best plan of the walk.
"""
