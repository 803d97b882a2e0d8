"""The status pages: how the monitors stand, one monitor, one round."""
