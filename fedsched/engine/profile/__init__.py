"""What is free, and when: nodes, uplink loads and pools over the breakpoints of a plan.

Planned starts and ends come in. The first time at which a job fits goes out.
"""
