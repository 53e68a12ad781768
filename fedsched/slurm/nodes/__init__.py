"""Nodes as Slurm's passes see them: sets of nodes as bits, nodes of several sizes, and nodes that jobs share.

Input: node sets and free resources. Output: the sets that remain.
"""
