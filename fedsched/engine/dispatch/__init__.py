"""Dispatch rules: strict, greedy, local, EASY, lookahead and conservative, one pass through the queue each.

A pass gets the State after the events of an instant. It changes the State: the jobs that the rule selects start now.
"""
