"""Rivals: plain Python programs, and adapters for frameworks."""
