"""Commands for a site's Slurm: plan, apply, watch, place, sprio, tune and twin.

What Slurm's commands print comes in. Tables go out, and changes of the queue that can be undone.
"""
