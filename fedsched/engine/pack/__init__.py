"""Packing: workloads, federations, limits, power caps and shapes become the arrays that the event loop uses.

Functions take checked objects. They return arrays, or raise an error that names what does not go together.
"""
