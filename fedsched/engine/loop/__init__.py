"""The event loop: it finds the next instant, processes its events, and then does a dispatch pass.

Its functions take a Problem, a Plan and a State, and change the State in place.
"""
