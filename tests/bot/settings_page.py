"""Print deploy/settings.md as the code has it: python -m tests.bot.settings_page > deploy/settings.md"""

from __future__ import annotations

from bot.config import settings, variable
from bot.config_values import LOCAL_ONLY

HEAD = """\
# Settings

`gofer serve` reads environment variables and nothing else; `gofer run` and `gofer runner` read those that are not about
GitHub's App. A name that starts with `GOFER_` and is not in this table is an error, so that a misspelt setting is not a
setting that is silently off (the options of the [image builds](images.md) may be there). A secret may be given in a
file.
This page is made by `python -m tests.bot.settings_page` and held true by a test.

| Variable | Default | Meaning |
|---|---|---|
"""


TAIL = """
## For single repositories

The file of `GOFER_REPOSITORIES_FILE`, in TOML. A name or a value that does not fit is an error here too.

```toml
["octo/hello"]
image = "gofer-hello/{agent}:latest"     # built FROM ours; {agent} is the agent's name
setup.commands = ["cp package*.json /deps/", "cd /deps && npm ci"]  # before the agent starts; see operator.md
setup.lockfiles = ["package.json", "package-lock.json"]  # all that they see; while these are the same, /deps is kept
setup.seconds = 600                      # for all commands together
```

## Two processes

Where `GOFER_SANDBOX` is a runner, the engine and the model are that runner's alone, and giving one of these to `gofer
serve` is an error: """


def page() -> str:
    rows = []
    for name, default, meaning in settings():
        shown = {"": "**must be given**", "none": ""}.get(default, f"`{default}`")
        rows.append(f"| `{name}` | {shown} | {meaning} |\n")
    return HEAD + "".join(rows) + TAIL + ", ".join(f"`{variable(name)}`" for name in sorted(LOCAL_ONLY)) + ".\n"


if __name__ == "__main__":
    print(page(), end="")
