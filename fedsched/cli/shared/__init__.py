"""What the commands share: options, how a log and a machine are named, config files, tables, progress and messages.

Words of the command line come in. Workloads, federations and printed tables go out.
"""
