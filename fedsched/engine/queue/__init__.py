"""The queue of waiting jobs and the indexes that find the next job that may fit.

In come jobs that join or leave. Out goes the next candidate, in time logarithmic in the queue's length.
"""
