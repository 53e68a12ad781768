"""The search methods: GA, PSO, NSGA-II, MPSO-FGA, memetic, local searches, and islands of them.

A method is made for a run, which has the problem and the seed, and evaluates plans step by step.
"""
