"""Bounds on sums over jobs and on costs: Lagrangian prices over time, linear programs, and the cheapest hours.

A relaxation comes in. Multipliers go out, and what they prove.
"""
