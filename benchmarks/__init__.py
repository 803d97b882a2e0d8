"""Commands behind the figures of the docs: ``python -m benchmarks`` lists them."""
