#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What action.yml runs: `tare verify --json` on the models of TARE_MODELS, its findings as annotations of a
workflow and as a table in GITHUB_STEP_SUMMARY. The exit code is that of the command."""
import glob
import json
import os
import subprocess
import sys

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


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


def main():
    paths = models()
    if not paths:
        print("::error::no models are named")
        return 2
    command = [os.environ.get("TARE") or "tare", "verify", "--json", *paths]
    if os.environ.get("TARE_POLICY"):
        command += ["--policy", os.environ["TARE_POLICY"]]
    command += [f"--{name}" for name in ("deep", "strict") if os.environ.get(f"TARE_{name.upper()}") == "true"]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    try:
        checked = json.loads(done.stdout)["models"]
    except (ValueError, KeyError):
        print("::error::tare verify ended without a result")
        return done.returncode or 1
    rows = ["| model | verdict | errors | warnings |", "|---|---|---|---|"]
    for model in checked:
        found = model["findings"] + ([{"level": "error", **model["error"]}] if "error" in model else [])
        for finding in found:
            level = LEVELS[finding["level"]]
            print(f'::{level} file={escaped(model["input"], True)}::{escaped(words(finding))}')
        verdict = "good" if model["is_good"] else "bad"
        rows.append(f'| {cell(model["input"])} | {verdict} | {model["error_count"]} | {model["warning_count"]} |')
    print("\n".join(rows))
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as summary:
            summary.write("\n".join(rows) + "\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
