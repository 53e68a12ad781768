"""The independent check behind `Schedule.verify()`, with one file per rule of the model.

Each check takes a schedule and yields a line of text for each error, which names the job and the rule. No check uses
the code that simulates.
"""
