"""What searches plan: a package of jobs on a federation, packed once, with objectives and the machine's parts.

A workload comes in. Arrays that plans are evaluated on go out.
"""
