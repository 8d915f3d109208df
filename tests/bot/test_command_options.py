from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.command_options import OPTIONS, read, render
from bot.tasks import Mistake, Options, Slip
from sandbox import Budget


@pytest.mark.parametrize(
    ("text", "options", "rest"),
    [
        ("fix it", Options(), "fix it"),
        ("--pr fix it", Options(result="pr"), "fix it"),
        ("--diff fix it", Options(result="diff"), "fix it"),
        ("--agent codex --model gpt-5.5 fix it", Options(agent="codex", model="gpt-5.5"), "fix it"),
        ("--base=release/1.x --ready fix", Options(base="release/1.x", draft=False), "fix"),
        ("—PR –draft fix", Options(result="pr", draft=True), "fix"),
        ("--pr\n\nfix\n--diff", Options(result="pr"), "fix\n--diff"),
        ("--budget 30m,$2 x", Options(budget=Budget(wall_seconds=1800, cost_usd=2)), "x"),
        ("-- --pr is what I say", Options(), " --pr is what I say"),
        ("--pr -- -x", Options(result="pr"), " -x"),
        ("- one", Options(), "- one"),
    ],
)
def test_options_come_off_the_front_and_the_prompt_stays_as_written(text: str, options: Options, rest: str) -> None:
    assert read(text) == (options, rest)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("--pull x", Mistake(slip=Slip.OPTION, found="--pull", nearest="pr")),
        ("--repo=a/b x", Mistake(slip=Slip.OPTION, found="--repo", nearest="pr")),
        ("-pr x", Mistake(slip=Slip.OPTION, found="-pr", nearest="pr")),
        ("--pr --diff x", Mistake(slip=Slip.CONFLICT, found="--diff")),
        ("--draft --ready x", Mistake(slip=Slip.CONFLICT, found="--ready")),
        ("--model a --model b x", Mistake(slip=Slip.CONFLICT, found="--model")),
        ("--pr=yes x", Mistake(slip=Slip.VALUE, found="--pr=yes", nearest="pr")),
        ("--agent", Mistake(slip=Slip.VALUE, found="--agent", nearest="agent")),
        ("--agent\ncodex fix", Mistake(slip=Slip.VALUE, found="--agent", nearest="agent")),
        ("--budget lots x", Mistake(slip=Slip.VALUE, found="--budget lots", nearest="budget")),
    ],
)
def test_a_wrong_option_is_told_by_its_name(text: str, mistake: Mistake) -> None:
    assert read(text) == mistake


@pytest.mark.parametrize(
    "branch",
    ["--output=x", "-x", "a..b", "a//b", "/a", "a/", "a.lock", "a.lock/b", ".a", "a/.b", "a.", "a~1", "a^",
     "a:b", "a?b", "a*", "a[b", "a\\b", "@{u}", "a@{1}", "x" * 201, "a\x7fb"],
)  # fmt: skip
def test_g25_a16_no_branch_name_is_an_option_a_revision_or_a_path(branch: str) -> None:
    assert isinstance(read(f"--base={branch} x"), Mistake)


@pytest.mark.parametrize("branch", ["main", "release/1.x", "a-b_c", "v1.0", "feature/ü", "@"])
def test_an_ordinary_branch_is_taken(branch: str) -> None:
    assert read(f"--base={branch} x") == (Options(base=branch), " x".strip())


@pytest.mark.parametrize("model", ["$(id)", "a b"[:1] + ";x", "-x", "../x", "x" * 201])
def test_a16_no_model_name_is_anything_else(model: str) -> None:
    assert isinstance(read(f"--model={model} x"), Mistake)


AMOUNTS = st.builds(
    Budget,
    wall_seconds=st.none() | st.integers(1, 10**6),
    cost_usd=st.none() | st.integers(1, 10**9).map(lambda cents: cents / 100),
    tokens=st.none() | st.integers(1, 10**9 - 1),
    model_requests=st.none() | st.integers(1, 10**6),
)
CHOSEN = st.builds(
    Options,
    result=st.sampled_from([None, "pr", "diff"]),
    agent=st.sampled_from([None, "codex"]),
    model=st.sampled_from([None, "anthropic/claude@1", "gpt-5.5"]),
    base=st.sampled_from([None, "main", "release/1.x"]),
    draft=st.sampled_from([None, True, False]),
    budget=AMOUNTS,
)


@given(CHOSEN)
def test_what_is_rendered_is_read_again(options: Options) -> None:
    assert read(f"{render(options)}fix it") == (options, "fix it")


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    found = read(text)
    assert isinstance(found, Mistake) or text.endswith(found[1])


def test_every_option_sets_what_there_is() -> None:
    assert {option.sets for option in OPTIONS.values()} == set(Options.model_fields)
