"""`fedsched plot`: draw a saved search result."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import Literal

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import (
    CHART_FORMATS,
    KNEE,
    NotTakenError,
    check_apart,
    check_choice,
    check_input,
    check_output,
    chosen_plan,
    print_json,
    say,
)

FIRST = ("--out", "--what", "--choose", "--json")  # in the short help


def command(
    result: Path,
    /,
    *,
    out: Path,
    what: Literal["all", "front", "gantt"] = "all",
    choose: options.Choose = "knee",
    json: options.Json = False,
) -> int:
    """Draw a saved search result: its front, its progress and the chosen plan.

    Parameters
    ----------
    result
        A result file that `fedsched optimize --save` wrote.
    out
        The picture: .svg, .png or .pdf.
    what
        What to draw: all, front or gantt. all: everything on one page; gantt: the chosen plan's Gantt chart alone.
    choose
        The plan of the Gantt chart. `knee` (the compromise), or an objective's name (the plan that is best in it).

    Examples
    --------
    fedsched plot result.json --out result.png
    fedsched plot result.json --what gantt --choose makespan --out plan.svg
    """
    from fedsched.optimize.result import Result
    from fedsched.optimize.result.printed import from_file

    check_input(result)
    check_output(out, CHART_FORMATS, what="a chart")
    check_apart((result,), {"--out": out})
    if what == "front" and choose != KNEE:
        why = "is for a picture that shows a plan (--what all or gantt)"
        raise NotTakenError(("choose",), f"--choose {choose} {why}; leave it out.")
    found = Result.load(result)
    check_choice(choose, found.objectives)
    if what == "gantt":
        chosen_plan(found, choose).gantt(out)
    else:
        from fedsched.plot.result import draw_front, draw_result
        from fedsched.plot.style import save

        save(draw_result(found, chosen_plan(found, choose)) if what == "all" else draw_front(found), out)
    if json:
        print_json({"drawn": what, "written": [str(out)], "unverified": list(found.unverified)})
    else:
        say(f"written to {out}")
        say(from_file(found))
    return 0
