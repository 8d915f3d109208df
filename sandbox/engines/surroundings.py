"""What every agent finds around it, whichever it is: the way out, whom to trust on it, and its dependencies. Pure.

Constants of ours alone. An agent's own environment (``sandbox.agents``) comes on top of this.
"""

from __future__ import annotations

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROXY_URL = "http://127.0.0.1:9080"
NOT_PROXIED = "127.0.0.1,localhost"
# The image's own certificate authorities and the task's, joined by images/base/entry and images/base/setup.
BUNDLE = "/run/gofer/ca.pem"
# Node adds to its own list instead of replacing it.
TASK_CA = "/sock/ca.pem"
# What the setup phase left: programs first, so that a repository's own linter wins over an older one in the image.
DEPS = "/deps"
DEPS_PATH = f"{DEPS}/bin:{DEPS}/venv/bin:{DEPS}/node_modules/.bin"

WAY_OUT: dict[str, str] = {
    # So that a refused host is refused in words; both spellings, for curl reads http_proxy in lower case only.
    "HTTP_PROXY": PROXY_URL,
    "HTTPS_PROXY": PROXY_URL,
    "http_proxy": PROXY_URL,
    "https_proxy": PROXY_URL,
    "NO_PROXY": NOT_PROXIED,
    "no_proxy": NOT_PROXIED,
    "SSL_CERT_FILE": BUNDLE,
    "REQUESTS_CA_BUNDLE": BUNDLE,
    "CURL_CA_BUNDLE": BUNDLE,
    "GIT_SSL_CAINFO": BUNDLE,
    "CARGO_HTTP_CAINFO": BUNDLE,
    "PIP_CERT": BUNDLE,
    "NODE_EXTRA_CA_CERTS": TASK_CA,
    # Without it Node's own fetch and https know of no proxy, and end in a look-up that nobody answers.
    "NODE_USE_ENV_PROXY": "1",
}
# Where package managers keep what they fetched; the same places in the setup phase, which fills them, and in the
# agent, which reads them.
FOUND_AGAIN: dict[str, str] = {
    "VIRTUAL_ENV": f"{DEPS}/venv",
    "NODE_PATH": f"{DEPS}/node_modules",
    "CARGO_HOME": f"{DEPS}/cargo",
    "GOMODCACHE": f"{DEPS}/go/mod",
}
# Caches that only the setup phase can write to.
SETUP_CACHES: dict[str, str] = {
    "PIP_CACHE_DIR": "/tmp/pip",  # noqa: S108 - a tmpfs of the container's own; what is installed is kept, not this
    "npm_config_cache": "/tmp/npm",  # noqa: S108
    "GOCACHE": "/tmp/go",  # noqa: S108
    "GOFLAGS": "-modcacherw",
}


def agent_environment(name: str, own: dict[str, str], *, deps: bool) -> list[str]:
    """Of an agent's container; ``own`` is what its CLI asks for."""
    path = f"{DEPS_PATH}:{PATH}" if deps else PATH
    basis = {"PATH": path, "HOME": "/home/agent", "LANG": "C.UTF-8", "GOFER_AGENT": name}
    return _lines({**basis, **WAY_OUT, **(FOUND_AGAIN if deps else {}), **own})


def setup_environment() -> list[str]:
    """Of a setup phase's container: as the agent's, but what is fetched may be written."""
    basis = {"PATH": f"{DEPS_PATH}:{PATH}", "HOME": "/home/agent", "LANG": "C.UTF-8", "GOFER_DEPS": DEPS}
    return _lines({**basis, **WAY_OUT, **FOUND_AGAIN, **SETUP_CACHES})


def _lines(values: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
