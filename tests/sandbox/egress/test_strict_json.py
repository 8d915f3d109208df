"""A body that could be read in two ways is none."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.strict_json import MAX_DEPTH, MAX_VALUES, Unfit, no_references, objects, one_of, only, parsed

TWO_READINGS = {
    "empty": b"",
    "no JSON": b"{",
    "two objects": b"{}{}",
    "a list": b"[]",
    "a text": b'"x"',
    "a name twice": b'{"tools":[],"tools":[1]}',
    "a name twice, once escaped": b'{"tools":[],"too\\u006cs":[1]}',
    "a name twice deep inside": b'{"a":[{"b":1,"b":2}]}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":-Infinity}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "UTF-16 without a mark": '{"a":1}'.encode("utf-16-le"),
    "UTF-32": '{"a":1}'.encode("utf-32"),
    "Latin-1": b'{"a":"\xe9"}',
    "a mark before it": b'\xef\xbb\xbf{"a":1}',
    "a comment": b'{"a":1} // x',
    "a comma too many": b'{"a":1,}',
    "gzip": b"\x1f\x8b\x08\x00",
    "a control character in a text": b'{"a":"\x00"}',
    "too deep": b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
    "endlessly deep": b"[" * 200_000,
    "endlessly deep in an object": b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "a number beyond all digits": b'{"a":' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("name", TWO_READINGS)
def test_e34_what_parsers_read_differently_is_refused_in_words(name: str) -> None:
    with pytest.raises(Unfit) as caught:
        parsed(TWO_READINGS[name])
    assert "body" in str(caught.value)
    assert caught.value.status in (403, 413)


def test_too_many_values_are_refused_before_they_take_memory() -> None:
    with pytest.raises(Unfit, match="values at most") as caught:
        parsed(b'{"a":[' + b"1," * MAX_VALUES + b"1]}")
    assert caught.value.status == 413


def test_control_what_everybody_reads_alike_is_read() -> None:
    assert parsed(b' {"a": [1, {"b": "\xc3\xa9"}], "c": null}\n') == {"a": [1, {"b": "é"}], "c": None}
    deep = b'{"a":' * (MAX_DEPTH - 1) + b"1" + b"}" * (MAX_DEPTH - 1)
    assert parsed(deep)


@pytest.mark.parametrize("value", [[1], ["x"], "x", {"a": 1}, 1])
def test_a_list_of_objects_is_nothing_else(value: Any) -> None:
    with pytest.raises(Unfit, match="must be a list of objects"):
        list(objects("tools", value))
    assert list(objects("tools", None)) == []


def test_names_and_types_are_denied_by_default_and_shown_without_harm() -> None:
    only("the part", {"a": 1}, {"a", "b"})
    assert one_of("the tool", None, ("", "x")) == ""
    with pytest.raises(Unfit, match=r'the part "\?b\?x" is not allowed'):
        only("the part", {"<b>x": 1}, {"a"})
    odd: Any
    for odd in (1, [], {}, True, None, "X", "x "):
        with pytest.raises(Unfit, match="is not allowed"):
            one_of("the tool", odd, ("x",))


@pytest.mark.parametrize(
    "value",
    [
        {"url": "https://evil.test"},
        {"a": [{"image_url": "https://evil.test"}]},
        {"image_url": {"url": "https://evil.test"}},
        {"image_url": ["https://evil.test"]},
        {"file_id": "file-1"},
        {"file_id": ["file-1"]},
        {"url": "DATAX:,"},
        {"url": 1},
        {"url": ""},
        {"container": "c"},
    ],
)
def test_e34_nothing_is_to_be_found_elsewhere(value: Any) -> None:
    with pytest.raises(Unfit, match="only what is in the request itself"):
        no_references({"messages": [value]}, ("input",))


def test_control_what_is_in_the_body_itself_may_be_there() -> None:
    no_references({"url": "data:image/png;base64,AA", "image_url": {"url": "DATA:,x"}, "file_id": None})
    no_references({"input": {"url": "https://evil.test"}}, ("input",))
