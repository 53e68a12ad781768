"""Exact answers for small problems, by constraint programming.

A workload and a federation come in. The best schedule goes out, and a bound that the solver has proved.
"""
