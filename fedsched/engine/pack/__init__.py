"""From objects to arrays: workloads, federations, limits, power caps and shapes as the event loop takes them.

Checked objects come in. Arrays go out, or a refusal that names what does not go together.
"""
