"""Runs of the event loop: one that can be paused and inspected, and batches of plans on several threads.

In come problems and plans. Out go schedules and metric rows.
"""
