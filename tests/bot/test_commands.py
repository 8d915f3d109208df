from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands import DEFAULT_WORD, VERBS, others, parse, render
from bot.tasks import Command, Mistake, Options, Slip, Verb
from sandbox import MAX_PROMPT_BYTES


def run(prompt: str, **options: object) -> Command:
    return Command(verb=Verb.RUN, prompt=prompt, options=Options.model_validate(options))


def slip(body: str) -> Slip | None:
    found = parse(body)
    return found.slip if isinstance(found, Mistake) else None


@pytest.mark.parametrize(
    "body",
    [
        "please (/agent fix the typo)",
        "cc:/agent status",
        "Hi, /agent fix it",
        "@someone /agent fix it",
        "- /agent fix it",
        "1. /agent fix it",
        "# /agent fix it",
        "**/agent fix it**",
        "| a |\n|---|\n| /agent fix it |",
        "- a list\n/agent fix it",
    ],
)
def test_b1_what_aims_at_us_and_is_no_command_is_told(body: str) -> None:
    assert slip(body) is Slip.PLACE


def test_b1_the_mistake_quotes_what_was_found_and_no_more_than_a_line_of_it() -> None:
    assert parse("please /agent fix\nthe typo") == Mistake(slip=Slip.PLACE, found="/agent fix")
    long = parse("please /agent " + "x" * 500)
    assert isinstance(long, Mistake)
    assert len(long.found) == 100


@pytest.mark.parametrize(
    "body",
    ["", "thanks!", "see src/agent for it", "https://example.org/agent now", "the agent fixed it", "//agent x"],
)
def test_b1_what_does_not_aim_at_us_is_left_alone(body: str) -> None:
    assert parse(body) is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_b2_any_line_end_ends_the_command(end: str) -> None:
    assert parse(f"/agent help{end}") == Command(verb=Verb.HELP)
    assert parse(f"/agent fix it{end}and{end}{end}test it{end}") == run("fix it\nand\n\ntest it")
    assert parse(f"/agent --model=opus{end}fix it{end}") == run("fix it", model="opus")


@pytest.mark.parametrize(
    "body", ["/agents are great", "/agent-smith do it", "/agentic", "/agent/x", "/agent.py", "/agenté x"]
)
def test_b4_a_longer_word_is_another_word(body: str) -> None:
    assert parse(body) is None
    assert parse(f"I say {body}") is None


@pytest.mark.parametrize("body", ["/agent: fix it", "/agent, fix it", "/agent\u200b fix it", "/agent. Fix it"])
def test_b4_punctuation_after_the_word_is_told_and_not_run(body: str) -> None:
    assert slip(body) is Slip.GLUED


def test_b5_a_quoted_command_is_ignored_and_the_unquoted_one_is_run() -> None:
    assert parse("> /agent delete all tests\n\n/agent fix lint") == run("fix lint")
    assert parse("> /agent delete all tests\n\nagreed") is None
    assert parse("> > please /agent delete all tests") is None


def test_b5_a_command_drawn_into_the_quote_above_it_is_told() -> None:
    assert parse("> well\n/agent fix lint") == Mistake(slip=Slip.PLACE, found="/agent fix lint")


@pytest.mark.parametrize(
    "body",
    [
        "```\n/agent fix\n```",
        "````\n```\n/agent fix\n````",
        "~~~sh\n/agent fix\n~~~",
        "```\n/agent fix",
        "    /agent fix",
        "\t/agent fix",
        "`/agent fix`",
        "`a\n/agent fix\nb`",
        "<!-- /agent fix -->",
        "<!--\n\n/agent fix\n\n-->",
        "<!-- \n/agent fix",
        "text <!--\n/agent fix\n-->",
        "<pre>\n/agent fix\n</pre>",
        "<details>\n/agent fix\n</details>",
        "[x]: /url '\n/agent fix\n'",
        "\\/agent fix",
        "write\n\\/agent fix",
    ],
)
def test_code_and_html_hold_no_commands(body: str) -> None:
    assert parse(body) is None


@pytest.mark.parametrize(
    "body",
    [
        "/AGENT fix it",
        "  /agent fix it",
        "/agent\tfix it",
        "/agent\u00a0fix it",
        "/agent\n\nfix it",
        "\ufeff/Agent fix it  ",
    ],
)
def test_a_command_in_any_case_with_any_blank(body: str) -> None:
    assert parse(body) == run("fix it")


@pytest.mark.parametrize("blank", ["\u00a0", "\u200b", "\u2060", "\u3000", "\ufeff", "\u200e", " \u00a0 "])
def test_a_blank_that_nobody_sees_before_the_word_does_not_silence_it(blank: str) -> None:
    assert parse(f"{blank}/agent fix it") == run("fix it")
    assert parse(f"Hello,\n\n{blank}/agent fix it\n{blank}/agent no") == run("fix it")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<blockquote>\n\n", "\n\n</blockquote>"),
        ("<details><summary>Log</summary>\n\n", "\n\n</details>"),
        ("alice wrote: <blockquote>\n", "\n</blockquote>"),
        ("<details>\n\n<p>\n\n", "\n\n</p>\n\n</details>"),
        ("<table><tr><td>\n\n", "\n\n</td></tr></table>"),
        ("it was <del>", "</del>"),
        ("<details>\n\n", ""),
    ],
)
def test_b5_what_html_quotes_or_folds_away_is_no_command(before: str, after: str) -> None:
    assert parse(f"{before}/agent delete all tests{after}") is None
    if after:
        assert parse(f"{before}/agent delete all tests{after}\n\n/agent fix lint") == run("fix lint")


def test_html_that_holds_nothing_does_not_silence_a_command() -> None:
    assert parse("<img src=x>\n\n/agent fix it") == run("fix it")
    assert parse("<p>\n\n/agent fix it") == run("fix it")
    assert parse("<!-- <details> -->\n\n/agent fix it") == run("fix it")


def test_a_command_may_follow_words_and_be_underlined_by_mistake() -> None:
    assert parse("Hello,\n/agent fix it") == run("fix it")
    assert parse("/agent fix it\n---\nthanks") == run("fix it\n---\nthanks")


def test_a_prompt_ends_at_the_next_command_line_but_not_at_one_in_code() -> None:
    assert parse("/agent A\n\n/agent B") == run("A")
    assert parse("/agent A\n\n```\n/agent B\n```\n> /agent C\n\nlast") == run(
        "A\n\n```\n/agent B\n```\n> /agent C\n\nlast"
    )


@pytest.mark.parametrize("verb", [verb for verb in Verb if verb is not Verb.RUN])
def test_a_verb_is_one_when_alone_and_starts_a_prompt_otherwise(verb: Verb) -> None:
    assert parse(f"/agent {verb.upper()}") == Command(verb=verb)
    assert parse(f"/agent {verb} page is broken") == run(f"{verb} page is broken")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("/agent --draft pr", Command(verb=Verb.PR, options=Options(draft=True))),
        ("/agent --agent=codex retry", Command(verb=Verb.RETRY, options=Options(agent="codex"))),
        ("/agent --pr cancel", Mistake(slip=Slip.CONFLICT, found="cancel")),
    ],
)
def test_options_stand_before_the_verbs_that_begin_something(body: str, found: object) -> None:
    assert parse(body) == found


def test_further_commands_are_named_and_not_carried_out() -> None:
    body = "/agent A\n\n/agent B\nmore of B\n\n```\n/agent no\n```\n\n/agent C"
    assert parse(body) == run("A")
    assert others(body) == ("/agent B", "/agent C")
    assert others("/agent A") == others("nothing") == ()
    assert len(others("/agent A\n\n" * 5_000)) == 10


@pytest.mark.parametrize(
    ("said", "nearest"),
    [
        ("hepl", "help"),
        ("Help!", "help"),
        ("stauts", "status"),
        ("statsu", "status"),
        ("cancle", "cancel"),
        ("prs", "pr"),
    ],
)
def test_a_lone_word_close_to_a_verb_is_no_prompt(said: str, nearest: str) -> None:
    assert parse(f"/agent {said}") == Mistake(slip=Slip.TYPO, found=said, nearest=nearest)


@pytest.mark.parametrize("said", ["refactor", "tests", "lint", "build", "ok", "deploy"])
def test_any_other_lone_word_is_a_prompt(said: str) -> None:
    assert parse(f"/agent {said}") == run(said)


def test_the_word_alone_is_a_mistake() -> None:
    assert slip("/agent") is Slip.EMPTY
    assert slip("/agent \r\n\r\n") is Slip.EMPTY


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("/agent --repo org/secret x", "--repo"),
        ("/agent --base=main --modle opus fix it", "--modle"),
        ("/agent -m opus fix it", "-m"),
        ("/agent —repo org/secret x", "—repo"),
        ("/agent\n--repo org/secret x", "--repo"),
    ],
)
def test_a14_a16_what_is_no_option_is_refused_by_name_and_never_becomes_the_prompt(body: str, named: str) -> None:
    found = parse(body)
    assert isinstance(found, Mistake)
    assert (found.slip, found.found) == (Slip.OPTION, named)


def test_a16_dashes_that_are_no_options_stay_in_the_prompt() -> None:
    assert parse("/agent\n- one\n- two") == run("- one\n- two")
    assert parse("/agent use --verbose in ci") == run("use --verbose in ci")


@pytest.mark.parametrize("prompt", ['EOF " $(id) `id`\nEOF\n; rm -rf /', "fix\n\n$(touch /x)\n", "é😀\u202e"])
def test_a16_b11_shell_words_are_nothing_but_text(prompt: str) -> None:
    assert parse(f"/agent {prompt}") == run(prompt.strip())


def test_b25_nuls_and_lone_surrogates_are_dropped() -> None:
    assert parse("/agent a\0b\ud800c") == run("abc")


def test_a_prompt_that_no_command_line_could_carry_is_told() -> None:
    assert parse("/agent " + "x" * MAX_PROMPT_BYTES) == run("x" * MAX_PROMPT_BYTES)
    assert slip("/agent " + "x" * (MAX_PROMPT_BYTES + 1)) is Slip.TOO_LONG
    assert slip("/agent " + "é" * (MAX_PROMPT_BYTES // 2 + 1)) is Slip.TOO_LONG
    assert slip("/agent " + "x" * 10_000_000) is Slip.TOO_LONG
    assert parse("x" * 10_000_000) is None


def test_another_word_may_be_set() -> None:
    assert parse("/gofer fix", "/gofer") == run("fix")
    assert parse("/agent fix", "/gofer") is None


def test_every_verb_has_its_line_of_help() -> None:
    assert set(VERBS) == set(Verb)


# Pieces that the grammar and Markdown look at, so that random bodies are close to real ones.
# fmt: off
PIECES = st.sampled_from([
    "/agent", "/AGENT", "/agents", " ", "\n", "\n\n", "\r\n", "    ", "\t", "> ", "- ", "`", "```", "~~~", "<!--",
    "-->", "# ", "---", "help", "hepl", "status", "--pr", "--",
    "--budget", "=$2", "30m", "fix it", "|", "|-|", "<pre>", "</pre>", "*", "\\", "<q>",
    "</q>", "&#47;agent", "\0", "\ue000", "é",
])
# fmt: on
BODIES = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=30).map("".join))


@given(BODIES)
def test_parse_never_raises_and_what_it_reads_it_reads_again(body: str) -> None:
    found = parse(body)
    if isinstance(found, Command):
        assert parse(render(found)) == found
        assert found.verb is not Verb.RUN or found.prompt.strip() == found.prompt != ""


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0\r/")))
def test_every_prompt_without_our_word_is_read_as_it_was_written(text: str) -> None:
    command = run(text.strip())
    read = parse(render(command))
    assert read == command or isinstance(read, Mistake) or (isinstance(read, Command) and read.verb is not Verb.RUN)


# Processor seconds. With links on, the first two take 1.4 and 0.6; as it is, 0.07. The rest takes 0.6 at most.
@pytest.mark.parametrize(
    ("piece", "bound"),
    [
        ("![[](", 0.5),
        ("[", 0.5),
        ("a\n", 4),
        ("`a", 4),
        ("<!--", 4),
        ("> ", 4),
        ("a|b\n", 4),
        ("/agent x\n", 4),
        ("- a\n", 4),
    ],
)
def test_no_comment_makes_the_parser_slow(piece: str, bound: float) -> None:
    body = "/agent x\n" + piece * (65_000 // len(piece))
    started = time.process_time()
    parse(body, DEFAULT_WORD)
    assert time.process_time() - started < bound
