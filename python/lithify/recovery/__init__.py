"""What to do when a model call failed: error classes, and the strategy of the retries."""

from lithify.recovery.overflow import ErrorClass, Figures, Kind, classify_error, detect_silent_truncation
from lithify.recovery.retry import Decision, RetryAttempt, retry_strategy

__all__ = [
    "Decision",
    "ErrorClass",
    "Figures",
    "Kind",
    "RetryAttempt",
    "classify_error",
    "detect_silent_truncation",
    "retry_strategy",
]
