"""`fedsched plan`: find a better order for a Slurm cluster's waiting jobs and print it; nothing is changed."""

from __future__ import annotations

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import print_json
from fedsched.cli.slurm import steering

FIRST = ("--partition", "--user", "--slack", "--seconds", "--recorded", "--keep", "--json")  # in the short help


def command(
    *,
    steered: steering.Steered = steering.STEERED,
    recorded: steering.Recorded = None,
    keep: steering.Keep = None,
    json: options.Json = False,
) -> int:
    """Find a better order for a Slurm cluster's waiting jobs and print it; nothing is changed.

    Each Slurm command is printed on stderr before it is run. The commands only read, so no special rights are needed.
    `fedsched apply` makes the changes.

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
