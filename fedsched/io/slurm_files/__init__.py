"""Files and print-outs of Slurm: slurm.conf, sacct, sacctmgr, scontrol, node events.

Input: text of any version of Slurm. Output: workloads, federations, accounts and downtimes, with notes on what is not
modelled.
"""
