"""The HTML report: one page about a search or about schedules, which needs no network."""

from fedsched.report.material import Material, of_result, of_schedules
from fedsched.report.page import page, write
from fedsched.report.repeat_code import shifts_code

__all__ = ["Material", "of_result", "of_schedules", "page", "shifts_code", "write"]
