"""Benchmarks and their seeded inputs. Not part of the installed package."""
