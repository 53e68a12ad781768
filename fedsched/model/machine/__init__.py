"""The machine: node groups, clusters and federations, their partitions, node features and limits.

Plain numbers and names come in. Checked, frozen objects go out.
"""
