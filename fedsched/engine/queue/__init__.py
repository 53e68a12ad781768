"""The queue of waiting jobs and the indexes that find the next job that may fit.

Jobs enter and leave. The next candidate goes out, in time logarithmic in the queue's length.
"""
