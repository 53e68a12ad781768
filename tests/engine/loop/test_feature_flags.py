"""What kernels are compiled without."""

from __future__ import annotations

from support.feature_parts import call_with
from support.plain import begun, plain

flags = plain("fedsched.engine.loop.feature_flags")


def test_features_beyond_closing_are_asked_about_only_if_one_is_in_use() -> None:
    """Without extras, and where nodes only close, kernels see none."""
    for features, expected in (((), False), (("downtimes",), False), (("downtimes", "pools"), True)):
        call = call_with(features)
        problem = begun(call.jobs, call.machine)[0]
        assert flags.more_is(problem.extras) == expected
        assert flags.more_than_closing(problem.extras) is (problem.extras if expected else None)
        assert flags.counted_nodes(problem) is problem
