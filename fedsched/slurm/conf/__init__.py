"""The policy object of Slurm's scheduler, and the parameters that a slurm.conf gives it, by Slurm's version.

Input: a slurm.conf. Output: parameters, with notes on those that are not modelled.
"""
