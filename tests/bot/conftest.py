"""Fixtures for the bot's tests, by name."""

from __future__ import annotations

from tests.github_world import fake_time, github_client, github_world, place

__all__ = ["fake_time", "github_client", "github_world", "place"]
