"""Code that the commands on a Slurm queue share: options that select jobs, the source of the queue, printed plans."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from fedsched.cli.shared import options
from fedsched.cli.shared.groups import Group
from fedsched.cli.shared.input_output import INTERRUPTED, say
from fedsched.core.text import counted

if TYPE_CHECKING:
    from fedsched.site.steer import Aims, Choice, Plan, Runner

QUEUE = cyclopts.Group("Queue", sort_key=1)
JOBS = cyclopts.Group("Which jobs", sort_key=2)
CHANGES = cyclopts.Group("Changes and their undoing", sort_key=3)
Recorded = Annotated[
    Path | None,
    Parameter(
        group=QUEUE,
        help="Read the queue from a folder, instead of the live Slurm. --keep writes such a folder; there are shipped "
        "ones: `sample`, and `federation` (two clusters)."
    ),
]
TO_UNDO = "fedsched apply --undo restores the values of the jobs that were changed"
Keep = Annotated[
    Path | None, Parameter(group=QUEUE, help="Save Slurm's output in this new folder, for --recorded.")
]

State = Annotated[
    Path | None,
    Parameter(
        group=CHANGES,
        help="The folder for undo files; no other user may have write access. Default: $STATE_DIRECTORY; for root "
        "/var/lib/fedsched; else $XDG_STATE_HOME/fedsched or ~/.local/state/fedsched."
    ),
]
UndoFile = Annotated[
    Path | None,
    Parameter(
        group=CHANGES,
        help="The file that keeps the jobs' former values until they are restored. Default: a file for each cluster in "
        "the state folder."
    ),
]
Slack = Annotated[
    float, Parameter(group=options.SEARCH, help="The most seconds that a job may start after its forecast.")
]
Undone = Annotated[bool, Parameter(group=CHANGES, help="Restore the former values of all jobs in the undo file.")]
Pause = Annotated[float, Parameter(group=QUEUE, help="The seconds between two looks at the queue.")]
Most = Annotated[
    int | None,
    Parameter(
        group=CHANGES,
        help="Change at most this many jobs at once. The most important come first. Default: all.",
    ),
]
DryRun = Annotated[bool, Parameter(group=CHANGES, help="Print the commands, but run none that changes anything.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class JobSelection(Group):
    """The options that select the waiting jobs that fedsched may reorder or place."""

    qos: Annotated[tuple[str, ...], Parameter(group=JOBS, help=f"Only jobs of this QOS. {options.REPEATABLE}")] = ()
    partition: Annotated[
        tuple[str, ...], Parameter(group=JOBS, help=f"Only jobs of this partition. {options.REPEATABLE}")
    ] = ()
    account: Annotated[
        tuple[str, ...], Parameter(group=JOBS, help=f"Only jobs of this account. {options.REPEATABLE}")
    ] = ()
    user: Annotated[tuple[str, ...], Parameter(group=JOBS, help=f"Only jobs of this user. {options.REPEATABLE}")] = ()
    leave: Annotated[
        tuple[int, ...], Parameter(group=JOBS, help=f"Leave out the job with this number. {options.REPEATABLE}")
    ] = ()

    def choice(self) -> Choice:
        """Return the selection of jobs that these options make, as a `Choice`."""
        from fedsched.site.steer import Choice

        return Choice(self.qos, self.partition, self.account, self.user, frozenset(self.leave))


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Steered(JobSelection):
    """The options that select the jobs to reorder, and that limit the search for a plan and its changes."""

    slack: Slack = 3600.0
    evaluations: options.Evaluations = None
    seconds: options.Seconds = None
    drift: Annotated[
        int | None,
        Parameter(
            group=options.SEARCH,
            help="The most by which Slurm changes the difference of two jobs' priorities while the plan lasts; the "
            "plan keeps priorities farther apart than that. Default: the most that the priority weights allow."
        ),
    ] = None
    seed: options.Seed = None
    most: Most = None

    def aims(self) -> Aims:
        """Return these options as `Aims`; without a budget, the search takes 1000 evaluations and 10 seconds."""
        from fedsched.site.steer import Aims

        return Aims(
            choice=self.choice(),
            slack=self.slack,
            evaluations=1000 if self.evaluations is None else self.evaluations,
            seconds=10.0 if self.seconds is None else self.seconds,
            drift=self.drift,
            seed=self.seed or 0,
            most=self.most,
        )


ALL_JOBS = JobSelection()
STEERED = Steered()


def runner_of(recorded: Path | None, keep: Path | None = None, *, sparing: bool = False) -> Runner:
    """Return an object that runs Slurm's commands and prints each on stderr first; or one that reads recorded output.

    With `keep`, it also saves all output in that folder. With `sparing`, commands that change a job, and repeated reads
    of the whole queue, are not printed.
    """
    from fedsched.site.steer import Shell
    from fedsched.site.steer.runners import AnnouncingRunner, RecordedRunner, RecordingRunner

    runner: Runner = Shell() if recorded is None else RecordedRunner(recorded)
    if keep is not None:
        runner = RecordingRunner(runner, keep)
    if recorded is None:
        runner = AnnouncingRunner(runner, lambda command: say(f"fedsched: {command}", err=True), sparing=sparing)
    return runner


def interrupted(what: str) -> int:
    """Report on stderr what an interrupt leaves changed (`what`), and return the exit status 130."""
    say(f"fedsched: interrupted; {what}.", err=True)
    return INTERRUPTED


def undo_file_of(
    what: str, cluster: str, file: Path | None, folder: Path | None, *, recorded: Path | None, dry_run: bool
) -> Path | None:
    """Return the path of the undo file, by default in the state folder; None for recorded output without a named path.

    Unless it is a dry run, the folder is created.
    """
    from fedsched.site.steer.state_files import state_file

    if recorded is not None and file is None and folder is None:
        return None
    return state_file(what, cluster, file=file, folder=folder, make=not dry_run)


def clock(seconds: float) -> str:
    """Return a time, in seconds since 1970, as local month, day and time of day; a dash for NaN."""
    import time

    return time.strftime("%m-%d %H:%M:%S", time.localtime(seconds)) if seconds == seconds else "-"


def span(seconds: float) -> str:
    """Return a duration in its two largest units; a dash for NaN."""
    if seconds != seconds:
        return "-"
    whole = round(abs(seconds))
    days, hours, minutes, rest = whole // 86_400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    words = f"{days}d {hours:02}h" if days else f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"
    return f"-{words}" if seconds < 0 and whole else words


def rows_of(plan: Plan) -> list[list[str]]:
    """Return the rows of a plan's table: its jobs, in its order."""
    now = plan.queue.now
    return [
        [
            one.job.target, one.job.user, one.job.account, one.job.partition, f"{one.job.nodes:,}",
            span(one.job.limit) if one.job.limit < math.inf else "-",
            f"{one.job.priority:,}", _nice(plan, one.job.number, one.job.nice),
            clock(one.before), clock(one.after), span(one.after - one.before), span(one.after - now),
        ]
        for one in plan.starts
    ]  # fmt: skip


COLUMNS = ("job", "user", "account", "partition", "nodes", "limit", "priority", "nice", "forecast", "plan", "later by",
           "from now")  # fmt: skip


def _nice(plan: Plan, number: int, had: int) -> str:
    wanted = plan.niceties.get(number, had)
    return f"{had:,}" if wanted == had else f"{had:,} → {wanted:,}"


def say_plan(plan: Plan) -> None:
    """Print a plan: the verdict, which jobs wait longer, what is left out, and the jobs in order."""
    from fedsched.cli.shared.input_output import print_table

    queue = plan.queue
    say(verdict(plan))
    if plan.starts:
        later = plan.later
        longest = f", the longest job {later[0].job.target} by {span(later[0].later)}" if later else ""
        say(f"waits longer with the plan: {counted(len(later), 'job')}{longest}; none starts later than its forecast "
            f"plus {span(plan.slack)}; last end: {clock(plan.ends[0])} without the plan, {clock(plan.ends[1])} with it"
            if not plan.late else
            f"starts after its promised time in every order found: {counted(len(plan.late), 'job')}")  # fmt: skip
    for note in plan.notes:
        if plan.changes or note not in plan.why:
            say(note)
    print_table(
        f"{queue.cluster} at {clock(queue.now)}: {counted(len(queue.running), 'job')} with nodes, "
        f"{counted(len(plan.starts), 'job')} planned",
        COLUMNS, rows_of(plan), align="lllrrrrrllrr",
    )  # fmt: skip


def verdict(plan: Plan) -> str:
    """Return the answer in a sentence: the mean waits with and without the plan, and what it changes."""
    from fedsched.site.steer.plan import gaps_in_words

    before, after = plan.waits
    waits = f"mean wait: {span(before)} without the plan, {span(after)} with it ({_share(before, after)}); "
    if plan.changes:
        what = f"to do: Nice of {counted(len(plan.changes), 'job')}, {gaps_in_words(plan.drift)}"
    else:
        what = f"nothing to do: {plan.idle}"
    return f"{waits if plan.starts else ''}{what}"


def _share(before: float, after: float) -> str:
    return f"{(after - before) / before:+.1%}" if before else "0 %"


def plan_as_json(plan: Plan) -> dict[str, object]:
    """Return a plan as a dictionary for --json; times are in seconds since 1970."""
    from fedsched.site.steer import shell_line
    from fedsched.site.steer.commands import commands_of

    before, after = plan.waits
    return {
        "cluster": plan.queue.cluster,
        "now": plan.queue.now,
        "jobs": [
            {"job": one.job.target, "user": one.job.user, "account": one.job.account, "nodes": one.job.nodes,
             "forecast": one.before, "plan": one.after, "deadline": one.deadline, "priority": one.job.priority,
             "nice": one.job.nice, "new_nice": plan.niceties.get(one.job.number, one.job.nice)}
            for one in plan.starts
        ],
        "mean_wait": {"forecast": before, "plan": after},
        "ends": {"forecast": plan.ends[0], "plan": plan.ends[1]},
        "gap": plan.gap,
        "drift": dict(plan.drift),
        "left": plan.left,
        "commands": [shell_line(command) for command in commands_of(plan)],
        "notes": list(plan.notes),
    }  # fmt: skip
