"""The search methods: GA, PSO, NSGA-II, MPSO-FGA, memetic, local searches, and islands of them.

They take a problem and a seed, and evaluate plans step by step.
"""
