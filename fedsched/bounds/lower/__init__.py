"""Lower bounds on all schedules of a problem.

The input is a workload and a federation. The output is values, proven by arithmetic rather than by a solver.
"""
