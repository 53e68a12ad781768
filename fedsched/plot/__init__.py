"""Pictures of schedules: each function takes axes and returns them."""
