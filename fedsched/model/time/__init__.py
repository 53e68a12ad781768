"""What changes with time, independent of jobs: downtimes, reservations, and signals such as prices.

The classes take intervals and values, check them, and answer questions about any time.
"""
