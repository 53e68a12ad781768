"""Tables as CSV files and data frames: workloads, node use, signals and downtimes.

Rows come in. Checked columns go out, and are written back to the last bit.
"""
