"""Nodes that several jobs share: who fits beside whom, on which nodes, in an event loop of its own [55]."""

from fedsched.engine.sharing.noun import CHOICES as CHOICES
from fedsched.engine.sharing.noun import RESERVATIONS as RESERVATIONS
from fedsched.engine.sharing.noun import NodeSharing as NodeSharing
