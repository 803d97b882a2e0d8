"""What earlier rounds say about this one: change points and robust mixtures."""
