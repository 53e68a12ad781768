"""The federation's event loop, compiled, with the faces that pack problems and evaluate plans."""
