from __future__ import annotations

from sandbox.images.plan import RECIPES, Step, all_inputs, inputs_hash, plan, with_parents

FILES = {name: {f"images/{name}/Dockerfile": b"FROM x\n"} for name in RECIPES}


def test_inputs_hash_is_the_same_for_the_same_inputs_in_another_order() -> None:
    one = inputs_hash({"a": b"1", "b": b"2"}, {"x": "1", "y": "2"}, "root")
    assert one == inputs_hash({"b": b"2", "a": b"1"}, {"y": "2", "x": "1"}, "root")


def test_inputs_hash_changes_with_every_input() -> None:
    hashes = {
        inputs_hash({"a": b"1"}, {"x": "1"}, "root"),
        inputs_hash({"a": b"2"}, {"x": "1"}, "root"),
        inputs_hash({"b": b"1"}, {"x": "1"}, "root"),
        inputs_hash({"a": b"1", "b": b""}, {"x": "1"}, "root"),
        inputs_hash({"a": b"1"}, {"x": "2"}, "root"),
        inputs_hash({"a": b"1"}, {}, "root"),
        inputs_hash({"a": b"1"}, {"x": "1"}, "other root"),
    }
    assert len(hashes) == 7


def test_inputs_hash_tells_two_files_from_one_with_the_same_bytes_run_together() -> None:
    assert inputs_hash({"a": b"b", "c": b"d"}, {}, "") != inputs_hash({"a": b"bcd"}, {}, "")
    assert inputs_hash({"ab": b"c"}, {}, "") != inputs_hash({"a": b"bc"}, {}, "")


def test_a_change_of_the_base_changes_what_stands_on_it_and_nothing_else() -> None:
    before = all_inputs(FILES, "root")
    after = all_inputs({**FILES, "base": {"images/base/Dockerfile": b"FROM y\n"}}, "root")
    assert {name for name in RECIPES if before[name] != after[name]} == set(RECIPES) - {"egress"}


def test_a_change_of_the_root_changes_every_image() -> None:
    before, after = all_inputs(FILES, "root"), all_inputs(FILES, "newer root")
    assert {name for name in RECIPES if before[name] != after[name]} == set(RECIPES)


def test_nothing_is_built_where_all_is_current() -> None:
    hashes = all_inputs(FILES, "root")
    assert plan(list(RECIPES), hashes, dict(hashes)) == []


def test_what_is_missing_or_stale_is_built_after_its_parent() -> None:
    hashes = all_inputs(FILES, "root")
    found = {"base": "stale", "claude": None, "egress": hashes["egress"]}
    assert plan(["claude", "egress"], hashes, found) == [
        Step("base", hashes["base"], "its inputs have changed"),
        Step("claude", hashes["claude"], "there is no such image"),
    ]


def test_fresh_builds_what_is_current_too() -> None:
    hashes = all_inputs(FILES, "root")
    assert [step.name for step in plan(list(RECIPES), hashes, dict(hashes), fresh=True)] == list(RECIPES)


def test_an_image_is_wanted_with_all_it_stands_on() -> None:
    assert with_parents(["claude"]) == {"base", "claude"}
    assert with_parents(["egress"]) == {"egress"}
