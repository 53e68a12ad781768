"""Lower bounds: what no schedule of these jobs can beat.

A workload and a federation come in. Values go out, each proved by arithmetic rather than by a solver.
"""
