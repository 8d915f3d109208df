from __future__ import annotations

import aiohttp

from bot.demo.github import LocalGitHub
from bot.demo.github_uploads import SIGNATURE, rendered


async def test_an_upload_is_served_and_a_private_one_by_its_signature_alone(github_world: LocalGitHub) -> None:
    public, private = github_world.upload(b"one"), github_world.upload(b"two", private=True)
    async with aiohttp.ClientSession() as session:

        async def got(url: str) -> tuple[int, bytes]:
            async with session.get(url, headers={"Authorization": "x"}) as answer:
                return answer.status, await answer.read()

        assert await got(public) == (200, b"one")
        assert (await got(private))[0] == (await got(public + "0"))[0] == 404
        assert await got(f"{private}?{SIGNATURE}") == (200, b"two")
    assert [credential for _, credential in github_world.uploads.asked] == [True] * 4


def test_rendering_escapes_and_signs() -> None:
    assert rendered("<a> ![b](u)") == f'&lt;a&gt; <img src="u?{SIGNATURE}" alt="b">'
