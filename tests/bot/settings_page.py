"""Print deploy/settings.md as the code has it: python -m tests.bot.settings_page > deploy/settings.md"""

from __future__ import annotations

from bot.config import settings

HEAD = """\
# Settings

`gofer serve` reads environment variables and nothing else; `gofer run` reads those that are not about GitHub's App. A
name that starts with `GOFER_` and is not in this table is an error, so that a misspelt setting is not a setting that is
silently off (the options of the [image builds](images.md) may be there). A secret may be given in a file.
This page is made by `python -m tests.bot.settings_page` and held true by a test.

| Variable | Default | Meaning |
|---|---|---|
"""


def page() -> str:
    rows = []
    for name, default, meaning in settings():
        shown = {"": "**must be given**", "none": ""}.get(default, f"`{default}`")
        rows.append(f"| `{name}` | {shown} | {meaning} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    print(page(), end="")
