"""Slurm's priorities: basic and multifactor, with fair share, ages and decay.

Jobs, accounts and the clock come in. A priority for each job goes out.
"""
