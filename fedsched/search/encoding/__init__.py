"""Encodings of plans, as rows of whole numbers or of keys: decoding, repair, crossover and mutation.

It takes rows, and returns rows that keep every rule of the problem.
"""
