"""The problem of a search: a package of jobs on a federation, with objectives and the machine's units.

It takes a workload and a federation, and returns the arrays on which plans are evaluated.
"""
