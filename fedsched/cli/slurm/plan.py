"""`fedsched plan`: in which order a Slurm's waiting jobs would best have their turn; only reads."""

from __future__ import annotations

from fedsched.cli.shared import options
from fedsched.cli.shared.shared import print_json
from fedsched.cli.slurm import steering


def command(
    *,
    steered: steering.Steered = steering.STEERED,
    recorded: steering.Recorded = None,
    keep: steering.Keep = None,
    json: options.Json = False,
) -> int:
    """Say in which order a Slurm's waiting jobs would best have their turn; only reads.

    Each command of Slurm's is printed on stderr before it is run. Nothing is changed, and no right is needed: that is
    what `fedsched apply` does.

    Examples
    --------
    fedsched plan --recorded sample
    fedsched plan --recorded sample --partition main --slack 1800 --json
    """
    from fedsched.site.steer import plan, read_queue

    found = plan(read_queue(steering.runner_of(recorded, keep)), steered.aims())
    if json:
        print_json(steering.plan_as_json(found))
    else:
        steering.say_plan(found)
    return 0
