"""From objects to arrays: workloads, federations, limits, power caps and shapes as the event loop takes them.

In come checked objects. Out go arrays, or an error that names what does not go together.
"""
