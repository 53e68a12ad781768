"""Encodings of plans, as rows of whole numbers or of keys: decoding, repair, crossover and mutation.

The operators leave feasible rows: caps are within their limits, and every job fits on the empty federation.
"""
