"""Features beyond the plain model, one a file: downtimes, dependencies, holds, limits, pools, reservations, power.

The event loop calls them at events, starts and ends. If a feature is unused, its arrays are empty.
"""
