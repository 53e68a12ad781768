"""The policy object of Slurm's scheduler, and the parameters that a slurm.conf gives it, by Slurm's version.

A slurm.conf is read; parameters are returned, with notes on those that are not modelled.
"""
