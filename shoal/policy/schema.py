"""The JSON schema of policy files, for editors; generated, so that it is always up to date."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from shoal.policy.field_docs import field_notes


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a policy file, with the options of every method and the known measures."""
    from shoal.judging.measures import MEASURES
    from shoal.methods import METHODS
    from shoal.policy.method_options import AUTO, method_kind, option_types
    from shoal.policy.policy import Policy
    from shoal.policy.privacy import KINDS, rules_name

    schema: dict[str, Any] = _without_null(Policy.model_json_schema())
    parts = schema["$defs"]
    parts["Utility"]["properties"]["measure"]["enum"] = list(MEASURES)
    choice = parts["MethodChoice"]
    choice["properties"]["name"]["enum"] = [*METHODS, AUTO]
    choice.pop("additionalProperties", None)
    cases = []
    for name in (*METHODS, AUTO):
        method: Any = method_kind(name)
        notes = field_notes(method)
        options = {
            option: {**_without_null(TypeAdapter(kind).json_schema()), "description": notes.get(option, "")}
            for option, kind in option_types(method).items()
        }
        then = {"properties": {"name": {"const": name}, **options}, "additionalProperties": False}
        # Without a name, the default method is used.
        needs = {} if name == choice["properties"]["name"]["default"] else {"required": ["name"]}
        cases.append({"if": {"properties": {"name": {"const": name}}, **needs}, "then": then})
    choice["allOf"] = cases
    # Short forms that are expanded before they are checked.
    for key, kinds in KINDS.items():
        word = kinds[0].key.shorthand
        if word:
            table = parts[rules_name(key)]["properties"]
            bare = {name: value for name, value in table[word].items() if name != "description"}
            entry = parts["Privacy"]["properties"][key]
            if "oneOf" in entry:
                entry["oneOf"].append(bare)
            else:
                entry["anyOf"] = [{"$ref": entry.pop("$ref")}, bare]
    column = schema["properties"]["columns"]["additionalProperties"]
    role = parts["Column"]["properties"]["role"]
    schema["properties"]["columns"]["additionalProperties"] = {"anyOf": [column, role]}
    schema["title"] = "Shoal policy"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _without_null(node: Any) -> Any:
    """Drop null and null defaults, which TOML does not have, and titles that repeat the key."""
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {
        key: _without_null(value)
        for key, value in node.items()
        if not (key == "default" and value is None) and not (key == "title" and isinstance(value, str))
    }
    choices = out.get("anyOf")
    if choices is not None and {"type": "null"} in choices:
        left = [choice for choice in choices if choice != {"type": "null"}]
        out.pop("anyOf")
        out = {**left[0], **out} if len(left) == 1 else {**out, "anyOf": left}
    return out
