"""Descriptions of machines: federations as TOML, SimGrid platforms, and the traces of openb and MetaCentrum.

Text comes in. Federations go out, and federations are written as TOML.
"""
