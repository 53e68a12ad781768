"""One search under way: its budget, archive, history, seeds and checkpoints.

It takes a method, and returns a front of plans when a stopping rule gives a reason.
"""
