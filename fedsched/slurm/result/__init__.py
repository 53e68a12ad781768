"""Results of Slurm's scheduler: schedules with the pass that started each job, runs with other clocks, queue dumps."""
