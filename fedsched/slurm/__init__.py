"""Slurm's own scheduler: its accounts, its priorities."""
