# SPDX-License-Identifier: MIT
"""Documents of --json against their schemas (cli/schemas): the part of JSON Schema that these use, and nothing
else, so that a word that is not understood is a fault."""
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/schemas")
NOTES = {"$schema", "$id", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def load(name):
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def is_of_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, at="$"):
    """What is wrong with a value, each with its place."""
    if "$ref" in schema:
        yield from faults(value, load(schema["$ref"][:-len(".json")]), at)
        return
    for word, wanted in schema.items():
        if word == "anyOf":
            yield from min((list(faults(value, form, at)) for form in wanted), key=len)
        elif word == "type":
            names = wanted if isinstance(wanted, list) else [wanted]
            if not any(is_of_type(value, name) for name in names):
                yield f"{at}: {json.dumps(value)[:80]} is not {' or '.join(names)}"
        elif word in ("enum", "const"):
            if value not in (wanted if word == "enum" else [wanted]):
                yield f"{at}: {value!r} is not one of {wanted}"
        elif word == "required" and isinstance(value, dict):
            yield from (f"{at}: {name} is missing" for name in wanted if name not in value)
        elif word == "properties" and isinstance(value, dict):
            for name in value.keys() & wanted.keys():
                yield from faults(value[name], wanted[name], f"{at}.{name}")
        elif word == "additionalProperties" and isinstance(value, dict):
            for name in value.keys() - schema.get("properties", {}).keys():
                if name.endswith("_hex") and name[:-4] in value:
                    continue  # the bytes of a text that is not UTF-8
                if wanted is False:
                    yield f"{at}.{name}: the schema does not have it"
                else:
                    yield from faults(value[name], wanted, f"{at}.{name}")
        elif word == "items" and isinstance(value, list):
            for i, item in enumerate(value):
                yield from faults(item, wanted, f"{at}[{i}]")
        elif word not in NOTES | {"required", "properties", "additionalProperties", "items"}:
            yield f"{at}: the schema has {word}, which this does not know"


def check(document):
    """The faults of a document by the schema that it names."""
    name = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(name, str) or not os.path.exists(os.path.join(FOLDER, name.replace("/", ".") + ".json")):
        return [f"no schema {name!r}"]
    schema = load(name.replace("/", "."))
    return list(faults(document, schema))
