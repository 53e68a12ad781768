"""Files and print-outs of Slurm: slurm.conf, sacct, sacctmgr, scontrol, node events.

Text of any of its versions comes in. Workloads, federations, accounts and downtimes go out, and a note on whatever is
not modelled.
"""
