"""What is free, and when: nodes, uplink loads and pools over the breakpoints of a plan.

In come planned starts and ends. Out goes the first time at which a job fits.
"""
