"""Slurm's two schedulers, the main pass and the backfill pass, with their checks of limits, conditions and windows.

Input: the queue and the free nodes. Output: the jobs that start now, and their nodes.
"""
