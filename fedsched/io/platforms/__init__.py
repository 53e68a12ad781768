"""Descriptions of machines: federations as TOML, SimGrid platforms, and the traces of openb and MetaCentrum.

It reads text and returns federations; it writes federations as TOML.
"""
