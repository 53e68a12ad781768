"""Slurm's two schedulers, the main pass and the backfill pass, with their checks of limits, conditions and windows.

A pass goes over the queue and the free nodes. It starts jobs, on nodes that it chooses.
"""
