"""The commands: name, one-sentence summary and module of each."""

from __future__ import annotations

COMMANDS = {
    "simulate": "Simulate a policy on a log and print its metrics.",
    "optimize": "Search for the best plan for a package of jobs, and print it beside baselines and bounds.",
    "shift": "Compute what is saved by delaying jobs, by running them on other clusters, and by both.",
    "compare": "Compare methods and policies on logs over seeds: medians, gaps, ranks, significance tests.",
    "bench": "List benchmark instances, check plans and proofs for them, or run methods on them.",
    "bounds": "Compute lower bounds for every schedule of a log: makespan, energy, their front, response times.",
    "plot": "Draw a saved search result: front, progress, Gantt chart.",
    "report": "Write an HTML page about a saved search result, or about policies simulated on a log.",
    "market": "Schedule a batch of jobs on priced slots of nodes with local load: AEP, CSS, batch-slicer, BSF.",
    "info": "Summarise a log or a federation.",
    "sprio": "Print the terms that add up to the priorities of Slurm's pending jobs, as `sprio -l` does.",
    "tune": "Search for better parameters of a slurm.conf on the site's own log; each result is a diff.",
    "study": "Simulate what-if scenarios on a log or dump, and compare each with the unchanged system.",
    "twin": "Dump and replay a Slurm cluster, explain where simulation and record differ, and forecast starts.",
    "plan": "Find a better order for a Slurm cluster's waiting jobs and print it; nothing is changed.",
    "apply": "Reorder a Slurm cluster's waiting jobs by a plan: set their Nice values, which can be undone.",
    "watch": "Plan and apply again whenever a Slurm cluster's set of jobs changes; undo all changes at the end.",
    "place": "Choose a cluster for each job of a federation that leaves the choice to fedsched; let it start there.",
    "gang": "Simulate gang scheduling of gangs and local jobs, on sites with a queue per processor.",
    "generate": "Generate a synthetic workload: lublin, poisson or planted.",
    "convert": "Convert a log, a workload or a platform to another format, and report what is lost.",
    "fetch": "Download a log of the Parallel Workloads Archive, and check it.",
    "verify": "Recompute a log's known schedules on your copy of it, and compare.",
    "completion": "Print the script that makes a shell complete commands and options.",
    "doctor": "Check this installation: versions, machine, kernel cache, a self-test.",
    "warmup": "Compile kernels ahead of their first use: for images, login nodes and shared caches.",
    "demo": "Compare policies on the shipped trace, and write a report.",
}
FOLDERS = {
    "data": "completion convert demo doctor fetch generate info warmup",
    "slurm": "apply place plan sprio tune twin watch",
}


def module_of(command: str) -> str:
    """Return the name of the module that holds a command."""
    folder = next((folder for folder, commands in FOLDERS.items() if command in commands.split()), "experiment")
    return f"fedsched.cli.{folder}.{command}"
