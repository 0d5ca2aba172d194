"""Array engines (NumPy, PyTorch, any array-API library) and the few factorisations that Tacit needs."""
