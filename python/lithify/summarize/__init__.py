"""Layer 3: what was dropped, told by a model, checked, with a ladder of fallbacks that ends without one."""

from lithify.summarize.clients import from_anthropic, from_langchain, from_openai, from_pydantic_ai, from_text
from lithify.summarize.drive import SummaryState
from lithify.summarize.protocol import (
    Summarizer,
    SummaryAttempt,
    SummaryReply,
    SummaryReport,
    SummaryRequest,
)

__all__ = [
    "Summarizer",
    "SummaryAttempt",
    "SummaryReply",
    "SummaryReport",
    "SummaryRequest",
    "SummaryState",
    "from_anthropic",
    "from_langchain",
    "from_openai",
    "from_pydantic_ai",
    "from_text",
]
