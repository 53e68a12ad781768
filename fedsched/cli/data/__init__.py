"""Commands about data and the installation: completion, convert, demo, doctor, fetch, generate, info, warmup.

File names come in. Files and tables go out.
"""
