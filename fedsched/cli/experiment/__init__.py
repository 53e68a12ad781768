"""Commands for experiments: simulate, optimize, compare, bounds, bench, study, report, plot, shift, verify and others.

Logs and machines come in. Tables, pages and files of results go out.
"""
