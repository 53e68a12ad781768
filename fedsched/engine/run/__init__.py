"""Runs of the event loop: a simulation that can be paused and inspected, and batches of plans on several threads.

They take problems and plans, and give schedules and rows of metrics.
"""
