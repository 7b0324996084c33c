#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What action.yml runs: `tare verify --json` on the models of TARE_MODELS, its findings as annotations of a
workflow and as a table in GITHUB_STEP_SUMMARY. The exit code is that of the command."""
import glob
import json
import os
import subprocess
import sys

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def models():
    """Files of all lines; a line that matches nothing stays, for the command to say so."""
    lines = [line.strip() for line in os.environ["TARE_MODELS"].splitlines()]
    return [path for line in lines if line for path in sorted(glob.glob(line, recursive=True)) or [line]]


def escaped(text, is_property=False):
    for char, code in [("%", "%25"), ("\r", "%0D"), ("\n", "%0A")] + [(":", "%3A"), (",", "%2C")] * is_property:
        text = text.replace(char, code)
    return text


def words(finding):
    item = f'{finding["item_kind"]} "{finding["item_name"]}": ' if "item_name" in finding else ""
    return f'{item}{finding["text"]}' + (f' [{finding["code"]}]' if "code" in finding else "")


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def fail(text, code):
    print(f"::error::{escaped(text)}")
    return code


def switches():
    """The options that are on; ValueError: a word that is neither true nor false."""
    for name in ("deep", "strict"):
        given = os.environ.get(f"TARE_{name.upper()}") or "false"
        if given not in ("true", "false"):
            raise ValueError(f'{name}: "{given}" is neither true nor false')
        if given == "true":
            yield f"--{name}"


def main():
    paths = models()
    if not paths:
        return fail("no models are named", 2)
    command = [os.environ.get("TARE") or "tare", "verify", "--json", *paths]
    if os.environ.get("TARE_POLICY"):
        command += ["--policy", os.environ["TARE_POLICY"]]
    try:
        command += switches()
        done = subprocess.run(command, stdout=subprocess.PIPE)
    except ValueError as error:
        return fail(str(error), 2)
    except OSError as error:
        return fail(f"{command[0]}: {error.strerror}: install tare in an earlier step, or name it with `tare`", 4)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        result = {}
    checked = result.get("models")
    if checked is None:
        return fail(result.get("line", "tare verify ended without a result"), done.returncode or 1)
    rows = ["| model | verdict | errors | warnings |", "|---|---|---|---|"]
    for model in checked:
        unopened = [{"level": "error", **model["error"]}] if "error" in model else []
        found = model["findings"] + unopened
        for finding in found:
            level = LEVELS[finding["level"]]
            file = finding.get("file") or model["input"]
            print(f'::{level} file={escaped(file, True)}::{escaped(words(finding))}')
        verdict = "good" if model["is_good"] else "bad"
        n_errors = model["error_count"] + len(unopened)
        rows.append(f'| {cell(model["input"])} | {verdict} | {n_errors} | {model["warning_count"]} |')
    print("\n".join(rows))
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as summary:
            summary.write("\n".join(rows) + "\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
