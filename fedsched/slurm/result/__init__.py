"""The schedules of Slurm's scheduler, with the pass that started each job; recorded and drawn clocks; queue dumps.

Input: starts and clocks. Output: schedules.
"""
