"""Code that the commands share: options, logs and machines by name, settings files, tables, progress and messages.

Words of the command line come in. Workloads, federations and printed tables go out.
"""
