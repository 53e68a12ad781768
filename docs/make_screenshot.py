"""Take the picture of docs/how-to/read-a-report.md in a Chromium: python docs/make_screenshot.py /usr/bin/chromium."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import fedsched as fs

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
SIZE = {"width": 1100, "height": 1480}


def main() -> None:
    """Search, report, and photograph front and schedule."""
    jobs = fs.Workload.example().head(300).with_communication(bandwidth=2e6, seed=1)
    result = fs.optimize(jobs, fs.Federation.example(), evaluations=60_000, seed=1)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "report.html"
        result.report(path, price_per_kwh=0.25, co2_per_kwh=0.35)
        browser = driver.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # no picture of a page on its way
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-shown]")
        page.uncheck("#front-only")
        page.locator("#front").evaluate("(section) => section.scrollIntoView()")
        page.mouse.move(560, 1130)
        page.mouse.move(565, 1135)
        image = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    image.convert("RGB").quantize(96).save(PICTURE, optimize=True)  # a few colours make a small file


if __name__ == "__main__":
    main()
