"""What the tests of pictures share."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DPI = 60


@pytest.fixture(scope="session")
def comes_out_at_its_size() -> Callable[[Any], None]:
    """Return a check that a picture has its figure's size in pixels, is not blank, and labels its horizontal axis."""

    def check(ax: Any) -> None:
        from matplotlib.image import imread

        out = io.BytesIO()
        ax.figure.savefig(out, format="png", dpi=DPI)
        out.seek(0)
        pixels = np.asarray(imread(out))
        width, height = ax.figure.get_size_inches()
        assert pixels.shape[:2] == (round(height * DPI), round(width * DPI))
        assert pixels[..., :3].std() > 0.02
        assert ax.get_xlabel()

    return check


@pytest.fixture(scope="session")
def draws_without_pyplot() -> Callable[[str, str], None]:
    """Return a check that importing kinds of pictures loads no matplotlib, and drawing one no pyplot."""

    def check(kinds: str, drawing: str) -> None:
        code = (
            f"import sys; from fedsched.plot import {kinds}; "
            f"assert not {{'matplotlib', 'moocore'}} & set(sys.modules); "
            f"{drawing}; assert 'matplotlib.pyplot' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    return check
