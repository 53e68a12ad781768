"""Plans as rows of whole numbers or keys: decoding, repair, crossover and mutation.

Rows come in. Rows that keep every rule of the problem go out.
"""
