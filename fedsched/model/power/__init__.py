"""Power: what nodes draw at each gear, caps on it, and when idle nodes are switched off.

Watts, rates and timeouts come in. Checked settings and the watts of each job go out.
"""
