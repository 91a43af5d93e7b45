"""Validates JSON texts against a JSON schema: validate.py SCHEMA FILE..., exit 1 with what is wrong.

Beyond what the schema can say, each row has no member that its table's columns do not name.
"""
import json
import sys

import jsonschema


def strange_members(report):
    for section in report["sections"]:
        for block in section["blocks"]:
            if block["kind"] != "table":
                continue
            keys = {column["key"] for column in block["columns"]}
            for row in block["rows"]:
                yield from ((section["id"], key) for key in row if key not in keys)


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in sys.argv[2:]:
        with open(path, encoding="ascii") as file:
            report = json.load(file)
        jsonschema.Draft202012Validator(schema).validate(report)
        for section, key in strange_members(report):
            sys.exit(f"{path}: section {section}: {key} is no column")


if __name__ == "__main__":
    main()
