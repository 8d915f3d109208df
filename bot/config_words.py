"""What a setting that does not fit is answered with. Pure, and never with the value: it may be a secret."""

from __future__ import annotations

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

_NO_VALUE = {
    "int_parsing": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_parsing": "it must be a number",
    "bool_parsing": "it must be true or false",
    "greater_than": "it must be greater than {gt}",
    "greater_than_equal": "it must be {ge} or more",
}
_OURS = "Value error, "


def words(error: ErrorDetails, field: FieldInfo | None) -> str:
    """One line that says what to give instead. ``field`` is None for what several settings are together."""
    kind = error["type"]
    if field is None or kind == "value_error":  # a check of our own, with words of our own
        return error["msg"].removeprefix(_OURS)
    if error["input"] == "":
        return "it is empty" if field.is_required() else "it is empty; leave it out for the default"
    if kind == "string_pattern_mismatch" and field.examples:
        return f"it must look like {' or '.join(map(str, field.examples))}"
    if kind in _NO_VALUE:
        return _NO_VALUE[kind].format(**error.get("ctx", {}))
    return error["msg"]
