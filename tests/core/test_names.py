"""The types of names that arguments take are the registries' names."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import fedsched as fs
from fedsched.core import names
from fedsched.engine.sharing.noun import CHOICES, RESERVATIONS
from fedsched.model import reading
from fedsched.optimize.entry_point import SEEDS
from fedsched.policies import DISPATCH, ORDERS, PLACEMENTS, POLICIES
from fedsched.search.methods.methods import ALIASES, ENCODINGS, METHODS
from fedsched.search.problem.objectives import SOUGHT

REGISTRIES = {
    "MethodName": {*METHODS, *ALIASES},
    "PolicyName": POLICIES,
    "ObjectiveName": SOUGHT,
    "OrderName": ORDERS,
    "DispatchName": DISPATCH,
    "PlacementName": PLACEMENTS,
    "SharingName": CHOICES,
    "SharedReservationName": RESERVATIONS,
    "Submits": reading.SUBMITS,
    "SameTime": reading.SAME_TIME,
    "Knowledge": reading.KNOWLEDGE,
    "Saturation": reading.SATURATION,
    "Alternatives": reading.CHOICES,
    "EncodingName": ENCODINGS,
    "FirstPlans": SEEDS,
}


def test_every_type_is_its_registry() -> None:
    """Tests that an editor offers every name that there is, and no other, and each once."""
    types = {name: get_args(kind) for name, kind in vars(names).items() if get_args(kind)}
    assert types.keys() == REGISTRIES.keys()
    for name, known in REGISTRIES.items():
        assert sorted(types[name]) == sorted(known), name


@pytest.mark.parametrize(
    ("verb", "wanted"),
    [
        (fs.optimize, {"method": "MethodName", "objectives": "ObjectiveName", "submits": "Submits",
                       "knowledge": "Knowledge", "baselines": "PolicyName", "seeds": "FirstPlans"}),
        (fs.simulate, {"policy": "PolicyName", "placement": "PlacementName", "submits": "Submits",
                       "saturation": "Saturation", "sharing": "SharingName"}),
        (fs.Rules, {"dispatch": "DispatchName", "placement": "PlacementName"}),
        (fs.Rolling, {"method": "MethodName", "placement": "PlacementName"}),
    ],
)  # fmt: skip
def test_verbs_say_which_names_they_take(verb: Any, wanted: dict[str, str]) -> None:
    """Tests that the signatures of what users call are of these types."""
    hints = verb.__annotations__ if not isinstance(verb, type) else verb.__init__.__annotations__
    for field, kind in wanted.items():
        assert kind in hints[field]
