"""Profiles: what is planned to be free over time (nodes, uplink loads and pools), as values at breakpoints.

A profile is filled from planned starts and ends. Searches return the first time at which a job fits.
"""
