"""The problem of a search: a package of jobs on a federation, with objectives and the machine's units.

A problem is made of a workload and a federation; it has the arrays on which plans are evaluated.
"""
