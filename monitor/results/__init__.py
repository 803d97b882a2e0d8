"""What the functions of `monitor` return: readable, and convertible to tables, values, pictures."""
