"""What the market's benchmarks share: the paper, and its loads.

The paper names loads by the share Y of cycles in which a job finds no window; of ours, these come nearest.
"""

from __future__ import annotations

from fedsched.market import Domain

SOURCE = "Toporkov et al. 2015, the market"
LOW = Domain(busy=(0.0, 0.2))
MEDIUM = Domain()
HIGH = Domain(busy=(0.215, 0.515))
IDLE = Domain(nodes=30, busy=(0.0, 0.2))
