"""Searches over plans: genome, operators, methods, and the run that drives them."""
