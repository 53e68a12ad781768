"""What touches a living cluster: its twin, forecasts of starts, steering its queue, and tuning its slurm.conf.

What Slurm's commands print comes in. Replays, forecasts, and commands that can be undone go out.
"""
