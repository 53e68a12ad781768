"""The report's colours: legible on their grounds, and told apart by the colour-blind."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fedsched.report.skeleton import asset

TEXT, SHAPE = 4.5, 3.0  # WCAG 2.2, level AA: contrast of text, and of what is no text
APART = 20.0  # the least distance in CIELAB of neighbouring bars; 2.3 is just noticeable

# Machado, Oliveira and Fernandes (2009): how red-, green- and blue-blind people see linear RGB, severity 1.
BLIND = {
    "nobody": np.eye(3),
    "red": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                     [-0.003882, -0.048116, 1.051998]]),
    "green": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]),
    "blue": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]),
}  # fmt: skip
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])


def palettes() -> dict[str, dict[str, str]]:
    """Return the style's colours on the screen by day, by night, and on paper."""
    blocks = re.findall(r":root \{(.*?)\n\s*\}", asset("page.css"), flags=re.DOTALL)
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block)) for block in blocks]
    assert len(found) == 3
    return dict(zip(("light", "dark", "print"), found, strict=True))


PALETTES = palettes()
MODES = pytest.mark.parametrize("mode", PALETTES)


def linear(colour: str) -> np.ndarray:
    """Return a colour's linear red, green and blue."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    values = np.array([int(digits[k : k + 2], 16) for k in (0, 2, 4)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, blind: str) -> np.ndarray:
    """Return a colour in CIELAB as somebody sees it."""
    xyz = TO_XYZ @ np.clip(BLIND[blind] @ linear(colour), 0, 1) / (TO_XYZ @ np.ones(3))
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@MODES
@pytest.mark.parametrize("ground", ["paper", "panel", "lane", "wash"])
def test_text_is_legible(mode: str, ground: str) -> None:
    """Tests that text of every colour has the contrast that WCAG asks for on every ground it may stand on."""
    colours = PALETTES[mode]
    for ink in ("ink", "soft", "accent", "warn"):
        assert contrast(colours[ink], colours[ground]) >= TEXT, ink


@MODES
def test_bars_stand_out(mode: str) -> None:
    """Tests that bars stand out from paper and lanes, and the numbers in them from the bars."""
    colours = PALETTES[mode]
    for k in range(8):
        assert contrast(colours[f"c{k}"], colours["paper"]) >= SHAPE, k
        assert contrast(colours[f"c{k}"], colours["lane"]) >= SHAPE, k
        assert contrast(colours["on-bar"], colours[f"c{k}"]) >= TEXT, k
    for k in range(5):
        assert contrast(colours[f"w{k}"], colours["lane"]) >= SHAPE, k


@MODES
@pytest.mark.parametrize("blind", BLIND)
def test_neighbours_are_told_apart(mode: str, blind: str) -> None:
    """Tests that colours in a row differ, and that waiting times go from one end of lightness to the other."""
    colours = PALETTES[mode]
    seen = [lab(colours[f"c{k}"], blind) for k in range(8)]
    for one, other in zip(seen, seen[1:] + seen[:1], strict=True):
        assert np.linalg.norm(one - other) >= APART
    lightness = [lab(colours[f"w{k}"], blind)[0] for k in range(5)]
    steps = np.diff(lightness)
    assert (np.abs(steps) >= 5).all()
    assert len(set(np.sign(steps))) == 1
