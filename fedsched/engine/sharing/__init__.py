"""Simulation of nodes that several jobs share: arrays for the event loop, runs of it, and their schedules [55]."""

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily
from fedsched.engine.sharing.noun import CHOICES as CHOICES
from fedsched.engine.sharing.noun import RESERVATIONS as RESERVATIONS
from fedsched.engine.sharing.noun import NodeSharing as NodeSharing

if TYPE_CHECKING:
    from fedsched.engine.sharing.result import SharedSchedule as SharedSchedule

__getattr__, __dir__ = lazily(__name__, {"SharedSchedule": "engine.sharing.result"})
