"""Features beyond the plain model, one a file: downtimes, dependencies, holds, limits, pools, reservations, power.

The event loop calls their functions at events, starts and ends of jobs. If a feature is unused, its arrays are empty.
"""
