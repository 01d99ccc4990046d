"""Seeded generators: a coding session, and histories of any size."""
