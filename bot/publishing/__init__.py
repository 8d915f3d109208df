"""A result on its way into the repository: what is to be done (plan), its words (message), doing it (perform)."""
