"""Compiled walks from one plan to a better one: descent, per-cluster walks, ruin and recreate.

A plan comes in. The best plan of the walk goes out.
"""
