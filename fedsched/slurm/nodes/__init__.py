"""Nodes as Slurm's passes see them: sets of nodes as bits, nodes of several sizes, and nodes that jobs share.

Node sets and free resources come in. The sets that remain go out.
"""
