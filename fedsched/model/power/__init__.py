"""Power: what nodes draw in each gear, power caps, and when idle nodes are switched off.

Watts, rates and timeouts come in. Checked settings and the watts of each job go out.
"""
