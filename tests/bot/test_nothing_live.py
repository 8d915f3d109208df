"""Whatever an agent writes, nothing of it is live in anything that is posted: no mention, reference or closing word, no
image, HTML or link, and no line that another bot takes for a command.

Each renderer is given hostile text in every field that an agent has a say in, and what comes out is parsed as GitHub
does. GitHub's own autolinks are not Markdown's: they are looked for in all text that is in no code.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot import check_words, commands, comments, conversation_words, pull_comment, result_comment
from bot.github import PullInfo
from bot.publishing import message
from bot.publishing.perform import Published
from bot.publishing.plan import Why
from bot.publishing.words import diff_note, refusal_note
from bot.steps import replies
from bot.steps.publish import Brought
from bot.threads import Head
from sandbox import Blocked, ChangedFile, Changes, Outcome, Progress, Reason, State
from tests.bot.requests import a_request

# Without linkify, which is a package of its own: what looks like an address is looked for in the text below.
PARSER = MarkdownIt("gfm-like", {"linkify": False, "html": True})

CORPUS = [
    "@octocat", "@octo/team", "@dependabot merge", "#1", "GH-7", "octo/secret#2", "fixes #1", "Closes octo/secret#3",
    "resolve: #4", "0123456789abcdef0123456789abcdef01234567", "octo/secret@0123456789abcdef0123456789abcdef01234567",
    "![x](https://evil.example/x.png)", "<img src=https://evil.example/x.png>", "[a](https://evil.example)",
    "[a](javascript:alert(1))", "[a][b]", "[b]: https://evil.example", "https://evil.example/x", "www.evil.example",
    "<https://evil.example>", "mailto:a@evil.example", "a@evil.example", "xn--80ak6aa92e.example",
    "</details>", "<details open><summary>Approved</summary>", "<script>", "<!--", "-->", "<!-- gofer:abc:result -->",
    "`", "``", "````", "`````", "~~~", "~~~~~", "/agent do it", "/merge", "/lgtm", "bors r+", "> /agent x", "- @x",
    "| a | @b |", "|---|---|", "# Title", "===", "---", "***", "**Verdict: changed.**", "$x$", "\\", "&lt;img&gt;",
    "&#64;octocat", "[^1]", "[^1]: @x", "- [x] done", "\u202e", "\u200b@octocat", "@\u200boctocat", "\ufe0f",
    "\x1b[31m", "\x1b]8;;https://evil\x07",
    "\r", "\r\n", "\n", "\n\n", "\t", "    ", " ", "\u2028", "\x0b", "\x0c", "\x85", "\U000e0041",
]  # fmt: skip
PIECE = st.sampled_from(CORPUS) | st.text(st.characters(codec="utf-8"), max_size=12)
TEXT = st.lists(PIECE, max_size=14).map("".join)

PULL = PullInfo(
    number=9, state="open", merged=False, draft=True, locked=False, title="T", url="https://github.com/octo/repo/pull/9",
    head=Head(sha="b" * 40, ref="agent/7-abc", repository_id=1, base_ref="main", base_sha="a" * 40), by_us=True,
)  # fmt: skip
PUBLISHED = Published(PULL, "agent/7-abc", "b" * 40, Why.NONE, updated=False)
REQUEST = a_request()


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    """An end of a task with hostile text wherever an agent or its files have a say."""
    lines = draw(st.lists(TEXT, max_size=3))
    path = draw(TEXT)
    patch = f"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@ {path}\n" + "".join(f"+{line}\n" for line in lines)
    changes = Changes(
        base_commit="a" * 40,
        patch=draw(st.sampled_from([patch.encode(), b"", None])),
        refusal=draw(TEXT),
        files=(ChangedFile(path=path, status="added", new_mode="100755"),),
        ignored_count=draw(st.integers(0, 2)),
        ignored_examples=(draw(TEXT),),
        notes=(draw(TEXT),),
    )
    return Outcome(
        state=draw(st.sampled_from(State)),
        reason=draw(st.sampled_from(Reason)),
        error=draw(TEXT),
        reply=draw(TEXT),
        exit_code=1,
        changes=changes,
        blocked=(Blocked(host=draw(TEXT), count=2),),
        notes=(draw(TEXT),),
        duration_seconds=1.0,
    )


def _checked(outcome: Outcome, *, posted: bool) -> str:
    words = check_words.ended("abc", "changed", outcome, result_comment.result("abc", outcome), posted=posted)
    assert re.fullmatch(r"[\w ,:]+", words.title)
    return words.summary


def _hostile(outcome: Outcome) -> str:
    return outcome.reply


RENDERERS: dict[str, Callable[[Outcome], str]] = {
    "result": lambda o: result_comment.result("abc", o, note=diff_note(Why.PROTECTED, (_hostile(o), o.error), "abc")),
    "bare": lambda o: result_comment.bare("abc", o),
    "pull": lambda o: pull_comment.opened(
        "abc", o, PUBLISHED, note="", details=[conversation_words.ignored([o.error])]
    ),
    "description": lambda o: message.body(REQUEST, o, "abc", base="main"),
    "refusal": lambda o: refusal_note(422, _hostile(o), "/agent"),
    "answer": lambda o: replies.words(_hostile(o), Brought(None, PUBLISHED)),  # type: ignore[arg-type]
    "check": lambda o: _checked(o, posted=True),
    "check-whole": lambda o: _checked(o, posted=False),
    "progress": lambda o: comments.working(
        1.0, Progress(last_tool=o.error, last_file=_hostile(o), last_words=o.notes[0])
    ),
    "not-prepared": lambda o: comments.failed_to_prepare(Reason.FETCH_FAILED, _hostile(o)),
    "could-not-begin": lambda o: comments.could_not_begin(_hostile(o)),
    "config-mistake": lambda o: conversation_words.config_mistake(".github/gofer.yml", _hostile(o)),
    "status": lambda o: conversation_words.status(
        [conversation_words.Line("abc", "working", _hostile(o), 1.0, "https://github.com/octo/repo/issues/7")]
    ),
}
# What our own words may say, by renderer: the thread, the pull request, and the link of `status` to a comment.
OWN_REFERENCES = {"pull": {"#9"}, "description": {"#7"}, "answer": {"#9"}}
OWN_LINKS = {"status": {"https://github.com/octo/repo/issues/7"}}
OWN_HTML = re.compile(r"<!-- gofer:[a-z0-9]+:[a-z-]+ -->\s*")

MENTION = re.compile(r"(?<![\w`])@[A-Za-z0-9]")
REFERENCE = re.compile(r"(?:[\w.-]+/[\w.-]+)?#\d+|\bGH-\d+", re.IGNORECASE)
COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|www\.|mailto:|\w@\w|\.example", re.IGNORECASE)
CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+\S*#\d+", re.IGNORECASE)


@pytest.mark.parametrize("name", RENDERERS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(outcome=outcomes())
def test_o01_o02_o04_o05_o07_nothing_that_an_agent_writes_is_live(name: str, outcome: Outcome) -> None:
    body = RENDERERS[name](outcome)
    tokens = PARSER.parse(body)
    text = "\n".join(live(name, tokens))
    assert not MENTION.search(text), text
    assert set(REFERENCE.findall(text)) <= OWN_REFERENCES.get(name, set())
    assert not COMMIT.search(text), text
    assert not ADDRESS.search(text), text
    first, _, rest = body.partition("\n")
    said = rest if name == "description" else body
    assert first == "Closes #7" or name != "description"
    assert not CLOSING.search("\n".join(live(name, PARSER.parse(said))))
    assert starts_no_command(body)


def live(name: str, tokens: list[Token]) -> list[str]:
    """All text that is in no code. Fails for images, links and HTML that are not ours."""
    found = []
    for token in tokens:
        if token.type == "html_block":
            assert OWN_HTML.fullmatch(token.content), token.content
        for child in token.children or []:
            assert child.type not in {"image", "html_inline"}, child
            if child.type == "link_open":
                assert child.attrs["href"] in OWN_LINKS.get(name, set())
            if child.type == "text":
                found.append(child.content)
    return found


def starts_no_command(body: str) -> bool:
    """Read by the line, as simple bots do: fences and quotes mean nothing to them."""
    lines = re.split(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]", body)
    assert not [line for line in lines if re.match(r"[/@!](?!@)|bors\b|\\(?! )", line) and not line.startswith("@@ ")]
    return commands.parse(body, "/agent") is None


@given(title=TEXT, login=st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True))
def test_o11_a_title_is_of_a_safe_alphabet_and_a_commit_closes_nothing(title: str, login: str) -> None:
    made = message.title(REQUEST, title)
    assert re.fullmatch(r"[\w ,.'()+-]*(?:Work on #7|\(#7\))", made), made
    assert not CLOSING.search(message.commit_message(REQUEST, title, "abc", "https://github.com"))


def test_the_check_is_one() -> None:
    """Each rule finds what it is for: text that went out as it is would be seen."""
    for text in ("@octocat", "see #1", "https://evil.example", "fixes #1"):
        tokens = PARSER.parse(text)
        found = "\n".join(live("result", tokens))
        assert MENTION.search(found) or REFERENCE.search(found) or ADDRESS.search(found)
    for text in ("![a](https://evil.example)", "a <img src=x>", "[a](https://evil.example)", "<details>\n"):
        with pytest.raises(AssertionError):
            live("result", PARSER.parse(text))
    with pytest.raises(AssertionError):
        starts_no_command("a\n/merge")
