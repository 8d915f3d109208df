"""The models that Pi 1.6.0 knows by itself, with their limits, prices and ways of thinking. Pure.

One that it does not know must be declared, or it is taken for another with that one's price. How to renew:
deploy/images.md; a test compares this with what the CLI lists.
"""

from __future__ import annotations

_ANTHROPIC = """
claude-fable-5 claude-fable-5-1 claude-fable-5-2 claude-haiku-4-5 claude-haiku-4-5-20251001 claude-haiku-5-5
claude-opus-4-5 claude-opus-4-5-20251101 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5
claude-opus-5-5 claude-sonnet-4-5 claude-sonnet-4-5-20250929 claude-sonnet-4-6 claude-sonnet-5
claude-sonnet-5-5
"""
_OPENAI = """
chat-latest gpt-4 gpt-4-turbo gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-2024-05-13 gpt-4o-2024-08-06
gpt-4o-2024-11-20 gpt-4o-mini gpt-5 gpt-5-chat-latest gpt-5-mini gpt-5-nano gpt-5-pro gpt-5.1 gpt-5.2
gpt-5.2-pro gpt-5.3-codex gpt-5.3-codex-spark gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.4-pro gpt-5.5
gpt-5.5-pro gpt-5.6-cyber gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-astra gpt-6-cyber gpt-6-luna gpt-6-sol
gpt-6.1-sol gpt-6.1-terra gpt-6.2-astra gpt-6.2-sol gpt-daybreak-blue-latest gpt-daybreak-red-latest o1 o1-pro
o3 o3-mini o3-pro o4-mini
"""

KNOWN: dict[str, frozenset[str]] = {
    "anthropic": frozenset(_ANTHROPIC.split()),
    "openai": frozenset(_OPENAI.split()),
}
"""By the CLI's own name of the provider."""
