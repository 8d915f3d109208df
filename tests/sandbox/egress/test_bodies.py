"""What the real clients send passes; what a provider would do by itself does not, wherever it hides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.egress.bodies import Unfit, judged

# Keys and types of the last request of a run of each real client (claude 2.1.332, codex 0.171.0, opencode 1.18.33,
# pi 1.6.0); texts are "s", numbers 1, schemas empty.
RECORDED = sorted((Path(__file__).parent / "bodies").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_a_real_client_sends_passes(path: Path) -> None:
    shape = json.loads(path.read_text())
    assert judged(shape["api"], json.dumps(shape["body"]).encode(), server_side=False) == shape["body"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_one_unknown_part_in_it_and_it_does_not(path: Path) -> None:
    shape = json.loads(path.read_text())
    for extra in ("mcp_servers", "previous_response_id", "anything"):
        with pytest.raises(Unfit, match=f'"{extra}" is not allowed'):
            judged(shape["api"], json.dumps({**shape["body"], extra: []}).encode(), server_side=False)


def test_an_api_that_is_not_known_is_no_way_round() -> None:
    with pytest.raises(KeyError):
        judged("anything", b"{}", server_side=True)


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses", "openai-chat"])
def test_an_operator_may_let_the_provider_act_but_never_two_readings(api: str) -> None:
    body: dict[str, Any] = {
        "mcp_servers": [{"type": "url", "url": "https://x.test"}],
        "tools": [{"type": "web_search"}],
    }
    assert judged(api, json.dumps(body).encode(), server_side=True) == body
    with pytest.raises(Unfit, match="twice"):
        judged(api, b'{"a":1,"a":2}', server_side=True)
