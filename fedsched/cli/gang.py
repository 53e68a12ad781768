"""`fedsched gang`: gangs and local jobs on sites whose every processor has its own queue."""

from __future__ import annotations

from dataclasses import asdict

from fedsched.cli.shared import print_json, print_table


def command(
    *,
    approach: int = 1,
    local_rate: float = 12.5,
    gang_rate: float = 0.5,
    overhead: float = 0.1,
    threshold: float = 0.0,
    routing: str = "shortest_waiting",
    completions: int = 40_000,
    replications: int = 10,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Run the experiment of Dimitriadou and Karatza and print means with 95 % intervals.

    Example: fedsched gang --approach 2 --local-rate 10

    Parameters
    ----------
    approach
        1: a gang stays on one site; 2: it may take idle processors of both; 3: it may wait in empty queues of both.
    local_rate
        Local arrivals at each of the two sites of 16 processors in a unit of time (a mean service time).
    gang_rate
        Gang arrivals at the grid in a unit of time.
    overhead
        What a gang that spans sites takes longer: 0.1 = 10 %.
    threshold
        How long a local job that overtakes a waiting gang may delay it.
    routing
        shortest_waiting or idle_first.
    completions
        A run ends after so many completed jobs.
    replications
        How many runs with seeds of their own.
    seed
        The first run's seed.
    json
        Print JSON instead of a table.
    """
    from fedsched.gang import presets, replicate

    preset = presets.DimitriadouKaratza(
        approach=approach,
        local_rate=local_rate,
        gang_rate=gang_rate,
        overhead=overhead,
        threshold=threshold,
        routing=routing,
        completions=completions,
    )
    answer = replicate(preset, replications=replications, seed=seed)
    if json:
        print_json({jobs: {name: asdict(value) for name, value in row.items()} for jobs, row in answer.items()})
        return 0
    rows = [(name, *(str(answer[jobs][name]) for jobs in answer)) for name in answer["all"]]
    print_table(f"Approach {approach}, {replications} runs, 95 % intervals", ("metric", *answer), rows, align="lrrr")
    return 0
