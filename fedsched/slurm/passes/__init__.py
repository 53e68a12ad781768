"""Slurm's two schedulers: the main pass and the backfill pass, and what they ask of a job.

The queue and the free nodes come in. Jobs that start now go out, and their nodes.
"""
