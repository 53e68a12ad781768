"""Parsing of MetaCentrum's requests and nodes of jobs: `1:ppn=64:x86_64:cl_zewura#excl` and `{1241,1241,1242}`.

A request has Torque's form: kinds of nodes joined by +, each a number of nodes (or one node's name) with the properties
that they must have; after a # come properties of the whole job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.jobs.labels import distinct
from fedsched.model.jobs.log import Demand
from fedsched.model.machine.node_features import FEATURE

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PER_NODE, _MEMORY, _ALONE = "ppn=", "mem=", "excl"


class Request(NamedTuple):
    """A job's request: the features that each of its nodes must have, joined by "&", and bits of its other demands."""

    features: str
    demands: Demand


def request_of(text: str) -> Request:
    """Return the features and the `Demand` bits of a job's request for nodes, given as text in Torque's form.

    A request for several kinds of nodes (+) has no features, but the bit KINDS.
    """
    kinds, *of_all = text.split("#")
    found = Demand.ALONE if _ALONE in of_all else Demand(0)
    found |= Demand.FEATURES if set(of_all) - {_ALONE} else Demand(0)
    features: dict[str, None] = {}
    for kind in kinds.split("+"):
        first, *words = kind.split(":")
        for word in words if first.isdecimal() else (first, *words):
            if word.startswith(_PER_NODE):
                many = word.removeprefix(_PER_NODE)
                found |= Demand(0) if many == "1" else Demand.PER_NODE if many.isdecimal() else Demand.FEATURES
            elif word.startswith(_MEMORY):
                found |= Demand.MEMORY
            elif "=" in word or word.startswith("^") or not FEATURE.fullmatch(word):
                found |= Demand.FEATURES if word else Demand(0)
            else:
                features[word] = None
    if "+" in kinds:  # each kind has its own features, but a label holds for all of a job's nodes
        return Request("", found | Demand.KINDS)
    return Request("&".join(features), found)


def requests_of(texts: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Return two arrays, with an entry for each job's request: the features, and the `Demand` bits as floats."""
    names, which = distinct(texts)
    found = [request_of(name) for name in names]
    features = np.array([one.features for one in found], dtype=object)
    return features[which], np.array([float(one.demands) for one in found])[which]


def nodes_of(text: str) -> dict[str, int] | None:
    """Return how many processors a job had on each node, by node name, from a text like {1241,1241,1242}.

    Return None for a text of another form.
    """
    inside = text.removeprefix("{").removesuffix("}")
    if len(inside) != len(text) - 2:
        return None
    found: dict[str, int] = {}
    for name in inside.split(","):
        found[name] = found.get(name, 0) + 1
    return None if "" in found else found
