"""`fedsched apply`: a plan's order, given to a Slurm's waiting jobs by Nice that can be undone."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from fedsched.cli import options, steering
from fedsched.cli.shared import print_json, say
from fedsched.text import counted, first_of


def command(
    *,
    steered: steering.Steered = steering.STEERED,
    dry_run: steering.DryRun = False,
    undo: Annotated[bool, Parameter(help="Give all jobs of the undo file back what they had.")] = False,
    undo_file: steering.UndoFile = steering.UNDO_FILE,
    recorded: steering.Recorded = None,
    json: options.Json = False,
) -> int:
    """Give a Slurm's waiting jobs the order of a plan, by Nice that can be undone.

    The commands are printed before the first is run, and each is read back. Jobs get positive Nice only, which their
    owner or the coordinator of their account may give; none is ever held. What they had before stands in the undo file,
    which `--undo` takes back. `fedsched watch` does the same again whenever the set of jobs changes.

    Examples
    --------
    fedsched apply --recorded sample --dry-run
    """
    from fedsched.errors import SteerError
    from fedsched.steer import Hand, Undo, plan, read_queue, written
    from fedsched.steer.rights import check_federation
    from fedsched.steer.updates import commands_of, restoring

    runner = steering.runner_of(recorded, quiet=json)
    queue = read_queue(runner)
    kept = Undo.open(undo_file, queue.cluster)
    hand = Hand(runner, kept)
    if undo:
        wanted = [written(command) for _, command in restoring(queue, kept)]
        others: list[str] = []
        if not dry_run:
            _, left = hand.restore()
            others = [job.target for job in left]
        _told(json, wanted, f"{'to undo' if dry_run else 'undone'}: {counted(len(wanted), 'command')}")
        if others:
            say(f"left as somebody else has changed them since: {first_of(others)}", err=True)
        return 0
    check_federation(queue)
    found = plan(queue, steered.aims(), former=kept.former, promises=kept.promises())
    wanted = [written(command) for command in commands_of(found)]
    if not json:
        steering.say_plan(found)
        for line in wanted:
            say(line)
    if dry_run:
        done = 0
    elif recorded is not None:
        raise SteerError("--recorded: a record cannot be changed; add --dry-run, or run it where Slurm is.")
    else:
        done = hand.apply(found)
    if json:
        print_json(steering.plan_as_json(found) | {"applied": done})
    elif dry_run:
        say(f"dry run: {counted(len(wanted), 'command')} not run")
    else:
        say(f"applied: Nice of {counted(done, 'job')}; undo: fedsched apply --undo --undo-file {undo_file}")
    return 0


def _told(json: bool, commands: list[str], text: str) -> None:
    if json:
        print_json({"commands": commands})
        return
    for line in commands:
        say(line)
    say(text)
