"""Array engines (NumPy, PyTorch, any array-API library) and the factorisations that Tacit needs."""
