"""The sample trace and the example federations that the wheel carries."""
