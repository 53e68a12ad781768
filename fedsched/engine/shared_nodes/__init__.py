"""The store of shared nodes: what is free on each node, what jobs hold there, and which waiting jobs fit.

Compiled parts of the event loop: they run where `Problem.sharing` is given, in place of counts of free nodes per group.
It takes a problem, a plan and a state; it changes the state's `work`.
"""
