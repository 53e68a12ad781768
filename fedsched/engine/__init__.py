"""The engine: the compiled event loop of simulations, and modules that pack problems into arrays and evaluate plans."""
