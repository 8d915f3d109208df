"""The runner's HTTP API over the face of this package; `serving` opens it, `openapi` describes it."""
