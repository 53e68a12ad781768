"""Tables as CSV files and data frames: workloads, node use, signals and downtimes.

It reads rows and returns checked columns; written numbers are read back to the last bit.
"""
