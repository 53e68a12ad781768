"""The machine: node groups, clusters and federations, their partitions, node features and limits.

The classes take plain numbers and names, check them, and are read-only.
"""
