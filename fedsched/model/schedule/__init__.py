"""Schedules: when and on how many nodes of each group each job runs.

From starts, ends and node counts, this package computes metrics, node numbers, power over time and texts.
"""
