"""The event loop: the next instant, what happens at it, and the dispatch pass that follows.

A Problem, a Plan and a State come in. The State is advanced in place.
"""
