"""Which addresses in a thread are fetched: GitHub's own for this server, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.attachments import (
    MAX_URL_CHARS,
    MOST_NAMED,
    Picture,
    Places,
    kind_of,
    missing,
    name_of,
    named,
    raw,
    signed,
    told,
    upload_of,
)

COM = Places.of("https://github.com")
OWN = Places.of("https://ghe.example.org:8443", private=True)
TENANT = Places.of("https://acme.ghe.com")
ID = "0f3c1a52-6a41-4c57-9c4b-0a1b2c3d4e5f"

GOOD = [
    (COM, f"https://github.com/user-attachments/assets/{ID}"),
    (COM, "https://github.com/user-attachments/files/1234/log.png"),
    (COM, f"https://github.com/octo/repo/assets/12345/{ID}"),
    (COM, "https://github.com/octo/repo/raw/main/docs/a.png"),
    (COM, "https://github.com/octo/repo/blob/main/docs/a.png?raw=true"),
    (COM, f"https://private-user-images.githubusercontent.com/1/2-{ID}.png?jwt=ey.a.b"),
    (COM, "https://user-images.githubusercontent.com/1/2.png"),
    (COM, "https://raw.githubusercontent.com/octo/repo/main/a.png"),
    (COM, "https://github-production-user-asset-6210df.s3.amazonaws.com/1/2.png?X-Amz-Signature=a"),
    (OWN, f"https://ghe.example.org:8443/user-attachments/assets/{ID}"),
    (OWN, "https://ghe.example.org:8443/storage/user/1/files/2"),
    (OWN, "https://raw.ghe.example.org:8443/octo/repo/main/a.png"),
    (TENANT, f"https://acme.ghe.com/user-attachments/assets/{ID}"),
]
BAD = [
    (COM, "http://github.com/user-attachments/assets/1"),
    (COM, "https://github.com/login?return_to=/user-attachments/assets/1"),
    (COM, "https://github.com/octo/repo/issues/1"),
    (COM, "https://github.com:444/user-attachments/assets/1"),
    (COM, "https://github.com@evil.example/user-attachments/assets/1"),
    (COM, "https://user:pw@github.com/user-attachments/assets/1"),
    (COM, "https://github.com.evil.example/user-attachments/assets/1"),
    (COM, "https://evilgithub.com/user-attachments/assets/1"),
    (COM, "https://gist.githubusercontent.com/a/b/raw/c.png"),
    (COM, "https://camo.githubusercontent.com/abc"),
    (COM, "https://github.com/user-attachments/assets/../../settings"),
    (COM, "https://github.com/user-attachments/assets/%2e%2e/%2E%2E/settings"),
    (COM, "https://github.com\\@evil.example/user-attachments/assets/1"),
    (COM, "https://169.254.169.254/user-attachments/assets/1"),
    (COM, "https://[::1]/user-attachments/assets/1"),
    (COM, "https://[/user-attachments/assets/1"),
    (COM, "https://github.com:port/user-attachments/assets/1"),
    (COM, "file:///etc/passwd"),
    (COM, "data:image/png;base64,AAAA"),
    (COM, "//github.com/user-attachments/assets/1"),
    (COM, "https://gıthub.com/user-attachments/assets/1"),
    (COM, "https://github.com/user-attachments/assets/" + "a" * MAX_URL_CHARS),
    (COM, "https://other-bucket.s3.amazonaws.com/1.png"),
    (OWN, f"https://github.com/user-attachments/assets/{ID}"),
    (OWN, "https://raw.githubusercontent.com/octo/repo/main/a.png"),
    (OWN, "https://ghe.example.org/user-attachments/assets/1"),
    (OWN, "https://x.raw.ghe.example.org:8443/a.png"),
    (TENANT, "https://evil.ghe.com/user-attachments/assets/1"),
]


@pytest.mark.parametrize(("places", "url"), GOOD)
def test_p11_github_s_own_are_fetched(places: Places, url: str) -> None:
    assert places.hold(url)


@pytest.mark.parametrize(("places", "url"), BAD)
def test_p11_nothing_else_is(places: Places, url: str) -> None:
    assert not places.hold(url)


def test_b86_images_are_found_in_the_order_in_which_they_stand_and_once() -> None:
    base = "https://github.com/user-attachments/assets"
    text = (
        f"See ![one]({base}/1) and <img width=3 src='{base}/2'>\n"
        f'{base}/3\n\n![again](<{base}/1> "title") ![elsewhere](https://evil.example/x.png) '
        "https://github.com/octo/repo/blob/main/README.md"
    )
    assert named([text, f"![four]({base}/4)"], COM) == tuple(f"{base}/{number}" for number in (1, 2, 3, 4))


@given(st.text(alphabet="![](<>)img src=\"'https://github.com/user-attachments/assets/\n", max_size=300))
def test_any_text_is_looked_through(text: str) -> None:
    assert all(COM.hold(url) for url in named([text], COM))


def test_a_wall_of_images_is_not_looked_at_to_its_end() -> None:
    text = "".join(f"![](https://github.com/user-attachments/assets/{number}) " for number in range(200))
    assert len(named([text], COM)) == MOST_NAMED


def test_a_text_made_to_be_slow_is_looked_through_in_no_time() -> None:
    for piece in ("![", "<img ", "![](", "https://", "<img src="):
        named([piece * 20_000], COM)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "png"),
        (b"\xff\xd8\xff\xe0rest", "jpg"),
        (b"GIF89arest", "gif"),
        (b"RIFF\x00\n\x00\x00WEBPVP8 ", "webp"),
        (b"<!DOCTYPE html><title>Sign in to GitHub</title>", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"", None),
        (b" \x89PNG\r\n\x1a\n", None),
    ],
)
def test_b86_what_a_file_is_its_bytes_say(data: bytes, kind: str | None) -> None:
    assert kind_of(data) == kind


def test_names_are_ours() -> None:
    assert name_of(1, "png") == "image-1.png"


def test_the_page_of_a_file_is_asked_for_its_bytes() -> None:
    assert raw("https://github.com/o/r/blob/main/a.png") == "https://github.com/o/r/raw/main/a.png"
    assert raw("https://github.com/o/blob/raw/main/a.png") == "https://github.com/o/blob/raw/main/a.png"


def test_b86_signed_addresses_are_found_by_the_upload_they_are_of() -> None:
    url = f"https://private-user-images.githubusercontent.com/1/2-{ID}.png?jwt=a.b.c&amp;x=1"
    html = f'<p><a href="https://github.com/x"><img src="{url}" alt="a"></a></p><img src="https://evil.example/{ID}?jwt=1">'
    assert signed(html, COM) == {ID: url.replace("&amp;", "&")}
    assert upload_of(f"https://github.com/user-attachments/assets/{ID.upper()}") == ID
    assert upload_of("https://github.com/user-attachments/files/1/a.png") is None


def test_the_agent_is_told_of_them_in_words_that_are_ours() -> None:
    assert told([]) == ""
    url = f"https://github.com/user-attachments/assets/{ID}"
    text = told([Picture(url=url, name="image-1.png", place="review_comment", id=7)])
    assert "/inputs/attachments/image-1.png (from a comment on the files)" in text
    assert ID not in text
    assert missing("body", "it is too large") == "an image in the description: it is too large"
