"""Nodes as Slurm's passes see them: sets of nodes as bits, nodes of several sizes, and nodes that jobs share.

Functions tell whether a job fits on a set of nodes, and choose its nodes.
"""
