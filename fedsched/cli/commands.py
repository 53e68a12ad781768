"""The commands in groups, each with a line for the first page; it imports nothing, so that the first page is quick."""

from __future__ import annotations

GROUPS = {
    "Look": {
        "info": "Summarise a log or a federation.",
        "report": "Write an HTML page about a search result or policies.",
        "plot": "Draw a saved search result: front, progress, Gantt chart.",
    },
    "Simulate": {
        "simulate": "Simulate a policy on a log and print its metrics.",
        "study": "Simulate what-if scenarios: more nodes, another policy, …",
    },
    "Plan": {
        "optimize": "Search for the best plan for a package of jobs.",
        "bounds": "Compute lower bounds that hold for every schedule.",
        "shift": "Compute what is saved by delaying or moving jobs.",
    },
    "Compare": {
        "compare": "Compare methods and policies, with significance tests.",
        "bench": "List benchmark instances, check plans, or run methods.",
        "verify": "Recompute a log's known schedules, and compare.",
    },
    "Your Slurm": {
        "twin": "Dump and replay a Slurm cluster, and forecast starts.",
        "tune": "Search for better parameters of a slurm.conf.",
        "plan": "Find a better order for waiting jobs; change nothing.",
        "apply": "Reorder waiting jobs by a plan; it can be undone.",
        "watch": "Plan and apply again whenever the set of jobs changes.",
        "place": "Choose a cluster for each job of a federation.",
        "sprio": "Print the terms of pending jobs' priorities.",
    },
    "Data": {
        "fetch": "Download a log of the Parallel Workloads Archive.",
        "convert": "Convert a log, a workload or a platform.",
        "generate": "Generate a synthetic workload.",
    },
    "The papers' other systems": {
        "gang": "Simulate gang scheduling of gangs and local jobs.",
        "market": "Schedule jobs on priced slots of nodes with local load.",
    },
    "Help": {
        "demo": "Compare policies on the shipped log; write a report.",
        "doctor": "Check this installation, with a self-test.",
        "warmup": "Compile kernels ahead of their first use.",
        "completion": "Print the script that completes commands in a shell.",
    },
}
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
FOLDERS = {
    "data": "completion convert demo doctor fetch generate info warmup",
    "slurm": "apply place plan sprio tune twin watch",
}
SUMMARY = "Schedule parallel jobs on one cluster or a federation: simulate policies, search plans."
TO_BEGIN = {
    "fedsched demo": "compare policies on a shipped log",
    "fedsched info YOUR.swf": "what is in your own log",
    "fedsched simulate YOUR.swf --policy easy": "how long its jobs wait under EASY",
}
HELP, ALL_HELP = ("--help", "-h"), "--help-all"


def module_of(command: str) -> str:
    """Return the name of the module that holds a command."""
    folder = next((folder for folder, commands in FOLDERS.items() if command in commands.split()), "experiment")
    return f"fedsched.cli.{folder}.{command}"


def first_page() -> str:
    """Return the help page that `fedsched` prints without a command: what to do first, then the commands in groups."""
    lines = ["Simulate schedulers and search plans for parallel jobs on HPC clusters.", "", "To begin:"]
    lines += [f"  {command:<42}{told}" for command, told in TO_BEGIN.items()]
    lines += [""]
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:<12}{summary}" for name, summary in commands.items())]
    lines += ["", "With every command: --help, --help-all, --config FILE (options from a file),"]
    lines += ["--debug (the traceback behind an error). fedsched --version prints the version."]
    return "\n".join(lines)
