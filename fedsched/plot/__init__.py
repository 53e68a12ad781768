"""Pictures of schedules, searches and comparisons: each function takes axes and returns them."""
