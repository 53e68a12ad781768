"""The queue of waiting jobs, and indexes that find the next job that may fit.

Jobs join and leave. A scan asks for the next candidate, which is found in time logarithmic in the queue's length.
"""
