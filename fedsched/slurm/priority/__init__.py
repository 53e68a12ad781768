"""Slurm's priorities: basic and multifactor, with fair share, ages and decay.

Input: jobs, accounts and the clock. Output: a priority for each job.
"""
