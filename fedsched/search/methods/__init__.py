"""The search methods: GA, PSO, NSGA-II, MPSO-FGA, memetic, local searches, and islands of them.

A problem and a seed come in. Plans to evaluate go out, step by step.
"""
