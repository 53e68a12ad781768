"""One search under way: its budget, archive, history, seeds and checkpoints.

A method comes in. A front of plans goes out when a stopping rule gives a reason.
"""
