"""What changes with time, independent of jobs: downtimes, reservations, and signals such as prices.

Intervals and values come in. Checked objects that can be asked about any instant go out.
"""
