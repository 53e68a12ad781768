"""The policy object of Slurm's scheduler, and the parameters that a slurm.conf gives it, by Slurm's version.

A slurm.conf comes in. Parameters go out, with notes on those not modelled.
"""
