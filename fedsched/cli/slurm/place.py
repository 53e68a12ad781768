"""`fedsched place`: choose a cluster for jobs of a Slurm federation that leave the choice to fedsched."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import print_json, print_table, say
from fedsched.cli.slurm import steering
from fedsched.core.text import counted

if TYPE_CHECKING:
    from fedsched.site.steer import Aims
    from fedsched.site.steer.placement_changes import PlacementChanger
    from fedsched.site.steer.placing import Placing

COLUMNS = ("job", "user", "account", "nodes", "limit", "may go to", "cluster", "starts", "from now")


# In the short help.
FIRST = (
    "--looks", "--due", "--dry-run", "--undo",
    "--slack", "--most", "--recorded", "--json",
)  # fmt: skip


def command(
    *,
    selection: steering.JobSelection = steering.ALL_JOBS,
    slack: steering.Slack = 3600.0,
    evaluations: options.Evaluations = None,
    seconds: options.Seconds = None,
    due: Annotated[
        float | None,
        Parameter(group=steering.JOBS, help="Place only jobs that would start within this many seconds. Default: all."),
    ] = None,
    looks: Annotated[int, Parameter(group=steering.QUEUE, help="End after this many looks at the queue.")] = 1,
    pause: steering.Pause = 30.0,
    most: steering.Most = None,
    dry_run: steering.DryRun = False,
    undo: steering.Undone = False,
    undo_file: steering.UndoFile = None,
    state: steering.State = None,
    recorded: steering.Recorded = None,
    keep: steering.Keep = None,
    json: options.Json = False,
) -> int:
    """Choose a cluster for each job of a Slurm federation that leaves the choice to fedsched; let it start there.

    Such a job waits for a begin time, so that no cluster starts it, and has the word fedsched in its comment: sbatch
    --begin=now+7days --comment=fedsched. The choice of clusters minimises the sum of all start times. A placed job gets
    the current time as its begin time. No job that already waits on a cluster starts later than its forecast plus
    `--slack`. Nothing else is changed. A job that is not placed starts at its begin time, on any cluster with room.
    With `--looks` and `--due`, jobs are placed shortly before they would start; five failed looks in a row end the
    command. Each command that changes something is printed before it is run.

    Examples
    --------
    fedsched place --recorded federation --dry-run
    """
    from fedsched.core.errors import FedschedError, SteerError
    from fedsched.site.steer import Aims
    from fedsched.site.steer.machine_read import CONFIG, settings_of
    from fedsched.site.steer.placement_changes import PlacementChanger, PlacementUndo
    from fedsched.site.steer.runners import RehearsalRunner
    from fedsched.site.steer.state_files import exclusive_lock
    from fedsched.site.steer.watching import PATIENCE

    if recorded is not None and not dry_run:
        raise SteerError("--recorded: a record cannot be changed; add --dry-run, or leave --recorded out to use Slurm.")
    if looks < 1:
        raise SteerError(f"--looks {looks} must be at least 1.")
    runner = steering.runner_of(recorded, keep, sparing=True)
    aims = Aims(
        choice=selection.choice(),
        slack=slack,
        evaluations=1000 if evaluations is None else evaluations,
        seconds=10.0 if seconds is None else seconds,
        most=most,
    )
    here = settings_of(runner.run(CONFIG))[0].get("clustername", "cluster")
    file = steering.undo_file_of("placed", here, undo_file, state, recorded=recorded, dry_run=dry_run)
    with exclusive_lock(None if dry_run else file):
        placed = PlacementUndo.open(file, only_read=dry_run)
        if dry_run:
            runner = RehearsalRunner(runner)  # nothing is changed
        placer = PlacementChanger(runner, placed, (lambda _: None) if json and dry_run else partial(say, err=json))
        if undo:
            _undone(placer, json=json, dry_run=dry_run)
            return 0
        failures = 0
        for k in range(looks):
            try:
                if k:
                    time.sleep(pause)
                _looked(placer, aims, due, json=json, dry_run=dry_run)
                failures = 0
            except KeyboardInterrupt:
                changes = "no job was changed" if dry_run else "fedsched place --undo takes the placements back"
                return steering.interrupted(changes)
            except FedschedError as error:
                failures += 1
                if failures == min(looks, PATIENCE):
                    raise
                say(f"this look changes nothing more: {error}", err=True)
    return 0


def _undone(placer: PlacementChanger, *, json: bool, dry_run: bool) -> None:
    from fedsched.site.steer import shell_line

    commands = [shell_line(one) for one in placer.undo()]
    if json:
        print_json({"commands": commands})
    else:
        say(f"{'to undo' if dry_run else 'undone'}: {counted(len(commands), 'command')}")


def _looked(placer: PlacementChanger, aims: Aims, due: float | None, *, json: bool, dry_run: bool) -> None:
    from fedsched.site.steer.placing import place
    from fedsched.site.steer.reading import read_siblings

    placing = place(read_siblings(placer.runner), aims)
    soon = (placing.placements if due is None else placing.due(due))[: aims.most]
    if not json:
        _say(placing)
    done = placer.carry_out(placing, soon)
    if json:
        print_json(_as_json(placing) | {"placed": 0 if dry_run else done})
    else:
        say(f"{'to place' if dry_run else 'placed'}: {counted(done, 'job')} of {len(placing.placements):,}")


def _say(placing: Placing) -> None:
    names = ", ".join(placing.queues)
    print_table(
        f"{names} at {steering.clock(placing.now)}: {counted(len(placing.placements), 'job')} to be placed",
        COLUMNS,
        [
            [
                one.job.target, one.job.user, one.job.account, f"{one.job.nodes:,}", steering.span(one.job.limit),
                ",".join(one.job.siblings), one.cluster, steering.clock(one.start),
                steering.span(one.start - placing.now),
            ]
            for one in placing.placements
        ],
        align="lllrrlllr",
    )  # fmt: skip
    if placing.left:
        say(
            f"not placed: {counted(len(placing.left), 'job')}, e.g. {placing.left[0].target}: jobs of several parts, "
            "arrays on several clusters, and jobs that fit on no cluster without making another job late"
        )
    for note in placing.notes:
        say(note)


def _as_json(placing: Placing) -> dict[str, object]:
    return {
        "clusters": list(placing.queues),
        "now": placing.now,
        "jobs": [
            {"job": one.job.target, "clusters": list(one.job.siblings), "cluster": one.cluster, "start": one.start}
            for one in placing.placements
        ],
        "left": [job.target for job in placing.left],
        "notes": list(placing.notes),
    }
