"""Dispatch rules: strict, greedy, EASY, lookahead and conservative.

In comes a State, after the events of an instant and before its pass. Out go the jobs that start now.
"""
