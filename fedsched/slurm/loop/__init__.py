"""Slurm's event loop: whole seconds of its clock, events, and the passes that follow.

A workload, a machine and a conf come in, packed as arrays. Starts and ends go out.
"""
