"""`fedsched doctor`: whether this installation is sound, and what to do where it is not."""

from __future__ import annotations

from dataclasses import asdict

from fedsched.cli.shared import options
from fedsched.cli.shared.shared import CHECK_FAILED, print_json, print_table, say


def command(*, json: options.Json = False) -> int:
    """Say whether this installation is sound: versions, machine, kernel cache, a self-test; exit 1 if not.

    Examples
    --------
    fedsched doctor
    fedsched doctor --json
    """
    from fedsched.cli.data import health

    found = list(health.checks())
    failed = [check for check in found if check.verdict == "fail"]
    if json:
        print_json({"sound": not failed, "checks": [asdict(check) for check in found]})
    else:
        rows = [(check.name, check.verdict, check.found, check.cure) for check in found]
        print_table("fedsched doctor", ("what", "verdict", "found", "cure"), rows, align="llll")
        say(f"{len(found)} checks, {len(failed) or 'none'} failed.")
    return CHECK_FAILED if failed else 0
