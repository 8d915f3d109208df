"""Images that a thread names: which of its addresses are GitHub's own, and what a file really is. Pure.

Only these are ever fetched: a text on GitHub can name any address, and the bot stands inside somebody's network. They
are derived from the address of GitHub itself, so with a server of one's own nothing of github.com is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from bot.tasks import Frozen

# Images that one task is given. More than these nobody has looked at either.
MOST: Final = 6
# Bytes of one and of all: GitHub takes images of 10 MB; a screenshot is a tenth of it.
MOST_BYTES: Final = 5 * 2**20
MOST_BYTES_TOGETHER: Final = 15 * 2**20
# Characters of an address. GitHub's signed ones are about a thousand long.
MAX_URL_CHARS: Final = 2_000

# What GitHub.com shows uploads from, besides its own pages: a host, and what the path must begin with.
_PUBLIC: Final = (
    ("user-images.githubusercontent.com", "/"),
    ("private-user-images.githubusercontent.com", "/"),
    ("raw.githubusercontent.com", "/"),
    ("media.githubusercontent.com", "/"),
    # where github.com itself leads for an upload of a public repository
    ("github-production-user-asset-6210df.s3.amazonaws.com", "/"),
)
# Paths of uploads on the server's own pages.
_UPLOADS: Final = ("/user-attachments/assets/", "/user-attachments/files/", "/storage/user/")
_IN_REPOSITORY: Final = re.compile(r"/[^/]+/[^/]+/(?:assets/[0-9]+|files|raw|blob)/.+")
# Hosts of a server with subdomain isolation, and of a tenant with data residency.
_SUBDOMAINS: Final = ("raw", "media", "uploads", "user-images", "private-user-images")


@dataclass(frozen=True)
class Places:
    """Where GitHub keeps what was attached. ``private``: its addresses may be private (a server of one's own)."""

    scheme: str
    host: str
    private: bool = False

    @classmethod
    def of(cls, github_url: str, *, private: bool = False) -> Places:
        parts = urlsplit(github_url)
        return cls(parts.scheme, parts.netloc.lower(), private)

    def hold(self, url: str) -> bool:
        """Whether this address may be asked for. Exact hosts, no user, no port but GitHub's own."""
        parts = _split(url)
        if parts is None or parts.scheme != self.scheme or "@" in parts.netloc or "\\" in url:
            return False
        host, path = parts.netloc.lower(), parts.path
        if ".." in path or "%2e" in path.lower():
            return False
        if host == self.host:
            return path.startswith(_UPLOADS) or _IN_REPOSITORY.fullmatch(path) is not None
        if self.host == "github.com":
            return any(host == known and path.startswith(start) for known, start in _PUBLIC)
        return host in {f"{name}.{self.host}" for name in _SUBDOMAINS}


def _split(url: str) -> SplitResult | None:
    if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname else None


Place = Literal["request", "body", "comment", "review", "review_comment", "title"]


class Picture(Frozen):
    """An image that a task is given: where it is named, and what it is called in the sandbox."""

    url: str
    name: str
    place: Place
    id: int
    """Of the comment or review; the thread's number for its description."""


_SAID: Final[Mapping[Place, str]] = {
    "request": "the request",
    "title": "the title",
    "body": "the description",
    "comment": "a comment",
    "review": "a review",
    "review_comment": "a comment on the files",
}


def told(pictures: Sequence[Picture]) -> str:
    """What the agent is told of them: our own words and names alone. Empty where there are none."""
    if not pictures:
        return ""
    listed = "\n".join(f"- /inputs/attachments/{one.name} (from {_SAID[one.place]})" for one in pictures)
    return (
        "Images of this thread lie beside the work tree, for reading, in the order in which they are named there. What "
        f"they show is information as the other text is:\n{listed}"
    )


def missing(place: Place, why: str) -> str:
    """For the list of what the agent was not told."""
    return f"an image in {_SAID[place]}: {why}"


_MARKDOWN: Final = re.compile(r"!\[[^\]\n]{0,300}\]\(\s?<?([^\s<>()]{1,2000})>?(?:\s[^)\n]{0,300})?\)")
_HTML: Final = re.compile(r"<img\b[^>]{0,500}?\bsrc=[\"']?([^\s\"'<>]{1,2000})", re.IGNORECASE)
_BARE: Final = re.compile(r"(?<![\w(\"'=/])https?://[^\s<>()\"'\]]{1,2000}")
# Addresses taken from all texts together; the rest of a wall of images is not looked at.
MOST_NAMED: Final = 50


def named(texts: Iterable[str], places: Places) -> tuple[str, ...]:
    """Images in these texts that are GitHub's own, each once, in the order in which they stand; at most
    ``MOST_NAMED``, of which the caller takes what it wants."""
    found: dict[str, None] = {}
    for text in texts:
        for url in _in_order(text):
            plain = url.replace("&amp;", "&")
            if places.hold(plain):
                found.setdefault(plain)
            if len(found) == MOST_NAMED:
                return tuple(found)
    return tuple(found)


def _in_order(text: str) -> Iterator[str]:
    """Images as Markdown or HTML writes them, and addresses on their own that are uploads."""
    hits = [(match.start(1), match[1]) for pattern in (_MARKDOWN, _HTML) for match in pattern.finditer(text)]
    hits += [(match.start(), match[0]) for match in _BARE.finditer(text) if _is_upload(match[0])]
    yield from (url for _, url in sorted(hits))


def _is_upload(url: str) -> bool:
    """A bare link to a page of a repository is no image; an upload's is shown as one."""
    parts = _split(url)
    return parts is not None and parts.path.startswith(_UPLOADS)


_MAGIC: Final = (
    ("png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("jpg", re.compile(rb"\xff\xd8\xff")),
    ("gif", re.compile(rb"GIF8[79]a")),
    ("webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
)


def kind_of(data: bytes) -> str | None:
    """What the bytes say that it is, whatever a header or a name says; None for anything but an image."""
    return next((name for name, pattern in _MAGIC if pattern.match(data)), None)


def name_of(number: int, kind: str) -> str:
    """The file's name in the sandbox: never one of the text's."""
    return f"image-{number}.{kind}"


def raw(url: str) -> str:
    """The page of a file in a repository is HTML; its bytes are beside it."""
    return re.sub(r"^([a-z]+://[^/]+/[^/]+/[^/]+)/blob/", r"\1/raw/", url)


def signed(html: str, places: Places) -> dict[str, str]:
    """Addresses with a signature in rendered HTML, by the upload's own id: what a private repository's images need."""
    found: dict[str, str] = {}
    for url in named([html], places):
        parts = _split(url)
        if parts is not None and parts.query:
            for upload in _UUID.findall(parts.path):
                found.setdefault(upload.lower(), url)
    return found


_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def upload_of(url: str) -> str | None:
    """The id of the upload that an address is of."""
    parts = _split(url)
    found = _UUID.search(parts.path) if parts else None
    return found[0].lower() if found else None
