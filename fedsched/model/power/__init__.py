"""Power: what nodes draw in each gear, power caps, and when idle nodes are switched off.

The classes are checked settings. Functions return the watts of each job and what a power cap leaves.
"""
