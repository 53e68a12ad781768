"""Nodes that several jobs share: what is free on each node, what jobs hold there, and which waiting jobs fit [55].

These are compiled parts of the event loop. If `Problem.sharing` is None, jobs do not share nodes, and the loop counts
free nodes per group instead. Functions take a problem, a plan and a state, and change `State.work`.
"""
