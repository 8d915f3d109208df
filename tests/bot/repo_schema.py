"""Prints the JSON Schema of ``.github/gofer.yml``: ``python -m tests.bot.repo_schema > deploy/gofer.schema.json``."""

from __future__ import annotations

import json

from bot.repo_config import schema

if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
