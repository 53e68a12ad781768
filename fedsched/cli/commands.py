"""The commands by name, what each does, and the module that holds it."""

from __future__ import annotations

COMMANDS = {
    "simulate": "Run a policy on a log and print what it costs.",
    "optimize": "Search the best plan for a package of jobs, beside baselines and bounds.",
    "shift": "Say what is saved by putting jobs off, by running them elsewhere, and by both.",
    "compare": "Compare methods and policies on logs over seeds: medians, gaps, ranks, who is ahead.",
    "bench": "List the field's instances; check best known plans and proofs; run methods on them.",
    "bounds": "Say what no schedule of a log can beat: makespan, energy, their front, responses.",
    "plot": "Draw a saved search result: front, progress, Gantt chart.",
    "report": "Write an HTML page about a saved result or a log's schedules: front, Gantt, energy.",
    "market": "Give a batch of jobs priced slots on nodes with local load: AEP, CSS, batch-slicer, BSF.",
    "info": "Say what is in a log or a federation.",
    "sprio": "Say what the priorities of Slurm's waiting jobs are the sum of, as `sprio -l` does.",
    "tune": "Search the parameters of a slurm.conf on the site's own log: a front of confs, each a diff.",
    "study": "Simulate scenarios on one log or dump, beside what is: who gains, who pays, and bounds.",
    "twin": "Read what Slurm tells of a cluster, simulate it, and explain where the two differ.",
    "plan": "Say in which order a Slurm's waiting jobs would best have their turn; only reads.",
    "apply": "Give a Slurm's waiting jobs the order of a plan, by Nice that can be undone.",
    "watch": "Plan again whenever the set of a Slurm's jobs changes, and undo all of it at the end.",
    "place": "Choose the cluster of a federation's jobs that leave it to us, and let them begin there.",
    "gang": "Run gangs and local jobs on sites with a queue per processor.",
    "generate": "Write a made workload: lublin, poisson or planted.",
    "convert": "Turn a log, a workload or a platform into another format, and say what is lost.",
    "fetch": "Download a log of the Parallel Workloads Archive, and check it.",
    "verify": "Recompute the known schedules of a log on your copy of it.",
    "completion": "Print what makes a shell complete commands and options.",
    "doctor": "Say whether this installation is sound: versions, machine, kernel cache, a self-test.",
    "warmup": "Compile ahead what calls need: for images, login nodes and caches that users share.",
    "demo": "Compare policies on the shipped trace; writes a report.",
}
FOLDERS = {
    "data": "completion convert demo doctor fetch generate info warmup",
    "slurm": "apply place plan sprio tune twin watch",
}


def module_of(command: str) -> str:
    """Return the name of the module that holds a command."""
    folder = next((folder for folder, commands in FOLDERS.items() if command in commands.split()), "experiment")
    return f"fedsched.cli.{folder}.{command}"
