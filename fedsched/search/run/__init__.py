"""One search under way: its budget, archive, history, seeds and checkpoints.

A run steps a method until a stopping rule gives a reason; its archive then holds a front of plans.
"""
