"""What to do when a model call failed: error classes."""

from lithify.recovery.overflow import ErrorClass, Figures, Kind, classify_error, detect_silent_truncation

__all__ = ["ErrorClass", "Figures", "Kind", "classify_error", "detect_silent_truncation"]
