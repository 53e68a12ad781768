"""The federation's compiled event loop, and the modules that pack problems into arrays and evaluate plans."""
