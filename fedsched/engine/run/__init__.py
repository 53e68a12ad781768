"""Runs of the event loop: one that can be paused and inspected, and batches of plans on several threads.

Problems and plans come in. Schedules and metric rows go out.
"""
