#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schema_check.py SCHEMA REQUESTS ANSWERS -- reads names of views and subcommands from the pipe
REQUESTS, and writes a line to the pipe ANSWERS for each: whether the JSON in ./out has the members
that the schema gives that view.  Loading jsonschema takes longer than all its checks, so a script
starts this once.  Without jsonschema every answer is good."""
import json
import os
import sys

try:
    from jsonschema import Draft202012Validator as Validator
except ImportError:
    Validator = None


def fault(schema, name):
    """What is wrong with ./out, in one line; None: nothing."""
    if not Validator:
        return None
    checker = Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
    try:
        data = json.load(open("out", encoding="utf-8"))
    except ValueError as error:
        return str(error)
    for error in checker.iter_errors(data):
        return f"{error.json_path}: {error.message}"[:500].replace("\n", " ")
    return None


def main():
    # What the script had open is not kept open: programs end when their input does.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    if Validator:
        Validator.check_schema(schema)
    with open(sys.argv[2], encoding="utf-8") as requests, \
            open(sys.argv[3], "w", encoding="utf-8") as answers:
        for name in requests:
            print(fault(schema, name.strip()) or "good", file=answers, flush=True)


main()
