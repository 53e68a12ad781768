"""`fedsched apply`: reorder a Slurm cluster's waiting jobs by a plan, with Nice values that can be undone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import print_json, say
from fedsched.cli.slurm import steering
from fedsched.core.text import counted, first_of

if TYPE_CHECKING:
    from fedsched.site.steer import Aims, JobChanger, Queue


# In the short help.
FIRST = (
    "--dry-run", "--undo", "--partition", "--user",
    "--slack", "--most", "--seconds", "--recorded", "--json",
)  # fmt: skip


def command(
    *,
    steered: steering.Steered = steering.STEERED,
    dry_run: steering.DryRun = False,
    undo: steering.Undone = False,
    undo_file: steering.UndoFile = None,
    state: steering.State = None,
    recorded: steering.Recorded = None,
    json: options.Json = False,
) -> int:
    """Reorder a Slurm cluster's waiting jobs by a plan: set their Nice values, which can be undone.

    All commands are printed before the first is run, and the effect of each is read back. Jobs get positive Nice only,
    which their owner or the coordinator of their account may set; no job is ever held. Their former values are kept in
    the undo file in the state folder; `--undo` restores them. `fedsched watch` repeats this whenever the set of jobs
    changes.

    Examples
    --------
    fedsched apply --recorded sample --dry-run
    """
    from fedsched.core.errors import SteerError
    from fedsched.site.steer import JobChanger, Undo, read_queue
    from fedsched.site.steer.state_files import exclusive_lock

    runner = steering.runner_of(recorded)
    if recorded is not None and not dry_run:
        raise SteerError("--recorded: a record cannot be changed; add --dry-run, or leave --recorded out to use Slurm.")
    queue = read_queue(runner, clocks=not undo)
    file = steering.undo_file_of("undo", queue.cluster, undo_file, state, recorded=recorded, dry_run=dry_run)
    with exclusive_lock(None if dry_run else file):
        hand = JobChanger(runner, Undo.open(file, queue.cluster, only_read=dry_run))
        try:
            if undo:
                _undone(hand, queue, json=json, dry_run=dry_run)
            else:
                _given(hand, queue, steered.aims(), json=json, dry_run=dry_run)
        except KeyboardInterrupt:
            if dry_run or not hand.undo.jobs:
                return steering.interrupted("no job was changed")
            return steering.interrupted(steering.TO_UNDO)
    return 0


def _undone(hand: JobChanger, queue: Queue, *, json: bool, dry_run: bool) -> None:
    from fedsched.site.steer import shell_line
    from fedsched.site.steer.commands import restoring

    others = [job.target for job in hand.undo.follow(queue.jobs, partial(say, err=True), unread=queue.unread)]
    wanted = [shell_line(command) for _, command in restoring(queue, hand.undo)]
    if not dry_run:
        hand.restore()
    if json:
        print_json({"commands": wanted})
    else:
        for line in wanted:
            say(line)
        say(f"{'to undo' if dry_run else 'undone'}: {counted(len(wanted), 'command')}")
    if others:
        say(f"not restored, because another user has changed them since: {first_of(others)}", err=True)


def _given(hand: JobChanger, queue: Queue, aims: Aims, *, json: bool, dry_run: bool) -> None:
    from fedsched.site.steer import plan, shell_line
    from fedsched.site.steer.commands import commands_of
    from fedsched.site.steer.rights import check_federation

    check_federation(queue)
    theirs = frozenset(job.number for job in hand.undo.follow(queue.jobs, partial(say, err=True), unread=queue.unread))
    theirs |= hand.undo.strangers
    aims = replace(aims, choice=replace(aims.choice, leave=aims.choice.leave | theirs))
    found = plan(queue, aims, former=hand.undo.former, promises=hand.undo.promises())
    wanted = [shell_line(command) for command in commands_of(found)]
    if not json:
        steering.say_plan(found)
        for line in wanted:
            say(line)
    done = 0 if dry_run else hand.apply(found)
    if json:
        print_json(steering.plan_as_json(found) | {"applied": done})
    elif dry_run:
        say(f"dry run: {counted(len(wanted), 'command')} not run")
    elif not wanted:
        say(f"applied: no job was changed: {found.idle}")
    else:
        say(f"applied: Nice of {counted(done, 'job')}; undo: fedsched apply --undo --undo-file {hand.undo.path}")
