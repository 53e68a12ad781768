"""The model: the jobs, machines, constraints and schedules that all other code uses, with their metrics and checks."""
