"""Nodes that several jobs share: who fits beside whom, on which nodes, in an event loop of its own [55]."""

from fedsched.sharing.noun import CHOICES as CHOICES
from fedsched.sharing.noun import RESERVATIONS as RESERVATIONS
from fedsched.sharing.noun import NodeSharing as NodeSharing
