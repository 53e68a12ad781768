"""The event loop's arrays: Problem (read-only), Plan (a candidate) and State (what a run knows).

Sizes come in. Arrays go out.
"""
