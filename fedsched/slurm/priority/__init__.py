"""Slurm's priorities: basic and multifactor, with fair share, ages, and usage that decays.

They are computed from jobs, accounts and the clock: a number for each job.
"""
