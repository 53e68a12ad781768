"""Commands for experiments: simulate, optimize, compare, bounds, bench, study, report, gang and market.

Logs and machines come in. Tables, pages and files of results go out.
"""
