"""Python benches: a comparison with rivals, and pytest-benchmark cases."""
