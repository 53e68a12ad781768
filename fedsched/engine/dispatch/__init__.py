"""Dispatch rules: strict, greedy, EASY, lookahead and conservative.

A State between the events of an instant and its pass comes in. Jobs that start now go out.
"""
