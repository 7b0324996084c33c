#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that an option which a command's help lists is read by that command, that what the library has by name
(src/ops/options) has that name in the command and in Python, and that Python's verbs have no other names than these.

Follows calls from `run` of each cli/cmd_NAME.c by name through the sources of cli, which finds more than can
be called, and looks for the variable of each option of its table and, of the common options it takes,
for each member of `cli`."""
import ast
import re
import sys
from pathlib import Path

CLI = Path(__file__).resolve().parent.parent / "cli"
BITS = {  # of CLI_TAKES_: members of which all must be read
    "JSON": ["json"], "SHARDS": ["one_shard"], "URL": ["timeout", "retries"], "STRICT": ["strict"],
    "CHECKING": ["strict"], "WRITING": ["dry_run", "no_sync"], "FORCE": ["force"], "RUNNABLE": ["force"], "THREADS": ["threads"], "QUIET": ["quiet"],
    "BASE": ["base"], "SIMILAR": ["base"], "EFFORT": ["effort"],
    "DEVICE": ["device"],
    "PART": ["part"], "SHARED": ["shared"],
    "NAMED": [],  # by main, which makes it an argument
    "CPU": [],  # by main, for every command that computes
}
GROUPS = {"INPUT": ["SHARDS", "URL"], "WORK": ["THREADS", "CPU", "QUIET"], "OUTPUT": ["WRITING", "FORCE"],
          "MODEL_OUTPUT": ["WRITING", "RUNNABLE"]}
FUNCTION = re.compile(r"^(static )?(?:const |struct |unsigned )*\w+[ *]+(\w+)\(([^;{]*?)\) \{\n(.*?)^\}",
                      re.M | re.S)


def functions():
    """(file, name) -> body; names with external linkage are known everywhere under file None."""
    found = {}
    for path in sorted(CLI.glob("*.c")):
        for static, name, _, body in FUNCTION.findall(path.read_text()):
            found[path.name if static else None, name] = (path.name, body)
    return found


def reachable(known, start):
    """The bodies that can be run from the functions named in a file."""
    todo, seen, bodies = [start], set(), []
    while todo:
        key = todo.pop()
        if key in seen or key not in known:
            continue
        seen.add(key)
        file, body = known[key]
        bodies.append((file, body))
        for name in set(re.findall(r"\b[a-z]\w*\b", body)):
            todo += [(file, name), (None, name)]
    return bodies


def mapping_rows():
    """The rows that convert and quantize share."""
    return re.search(r"#define CLI_MAPPING_OPTIONS\(args\)(.*?)\n\n", (CLI / "cli.h").read_text(), re.S)[1]


def own_targets(text):
    """Variables that the options table of a command fills: args.x, or a static."""
    table = re.search(r"static const cli_option options\[\] = \{\n(.*?)^\};", text, re.M | re.S)
    rows = re.findall(r'\.name = "([^"]+)".*?\.(?:flag|text|number|size|real|list|encoding) = &([\w.]+)',
                      table.group(1), re.S) if table else []
    macros = re.findall(r"CLI_MAPPING_OPTIONS\((\w+)\)", table.group(1)) if table else []
    if macros:
        rows += [(n, f"{macros[0]}.{m}") for n, m in
                 re.findall(r'\.name = "([^"]+)".*?&\(args\)\.(\w+)', mapping_rows(), re.S)]
    return rows


def is_read(target, command, text, bodies):
    """A member of a struct may be read where a pointer to the struct was passed; what the library
    does with a struct of its own is its tests' affair."""
    member, whole = target.split(".")[-1], target.split(".")[0]
    if re.search(rf"^static tare_\w+ {whole}\b", text, re.M):
        return any(f"&{whole}" in body for file, body in bodies if file == command)
    own = re.compile(r"\b" + re.escape(target) + r"\b")
    passed = re.compile(r"(->|\.)" + member + r"\b")
    return any(own.search(body) if file == command else "." in target and passed.search(body)
               for file, body in bodies)


# Of the library's names: those that the command says by something else than an option of that name, and those that
# Python has no keyword for.
ARGUMENTS = {"mix": "TYPE", "directory": "IN", "for_gpu": "--for gpu", "weighs_output": "--quality best"}
IMPLIED = {"weighs_output": "quality='best'"}

# Keywords of Python that no option of the command is called: of what the command line has no need of, and where Python
# cannot have the name.
PYTHON_ONLY = {"progress": "a function that is called", "directory": "where a model that is open came from",
               "for_gpu": "--for gpu, for `for` is a word of Python"}
VERBS = {"convert": ("_options.py", "ConvertOptions"), "quantize": ("_options.py", "QuantizeOptions"),
         **{name: ("_verbs.py", name) for name in ("pack", "unpack", "verify", "diff", "extract", "write_manifest")},
         "edit": ("_edit.py", "edit"), "report": ("_report.py", "report"), "join": ("_parts.py", "join")}


def keywords(file, name):
    """The keywords of a function, or the members of a class of options and of those that it extends."""
    tree = ast.parse((CLI.parent / "python/tare" / file).read_text()).body
    found = next(node for node in tree if getattr(node, "name", None) == name)
    if isinstance(found, ast.FunctionDef):
        return [one.arg for one in found.args.kwonlyargs]
    own = [node.target.id for node in found.body if isinstance(node, ast.AnnAssign)]
    return own + [one for base in found.bases if base.id != "TypedDict" for one in keywords(file, base.id)]


def options_of(command):
    """All options of a command, by their names; the common ones that it takes among them."""
    named = re.compile(r'(?:\.name = |CLI_NAMED\()"([^"]+)"')
    text = (CLI / f"cmd_{command}.c").read_text()
    table = re.search(r"static const cli_option options\[\] = \{\n(.*?)^\};", text, re.M | re.S)
    names = set(named.findall(table[1]))
    if "CLI_MAPPING_OPTIONS" in table[1]:
        names |= set(re.findall(r'\.name = "([^"]+)"', mapping_rows()))
    taken = re.findall(r"CLI_TAKES_(\w+)", re.search(r"\.takes = ([^,]*),", text)[1])
    common = (CLI / "arguments.c").read_text()
    rows = re.findall(r'\{CLI_TAKES_(\w+),\s*\{\.name = "([^"]+)"', common)
    return names | {name for bit, name in rows if bit in {b for w in taken for b in GROUPS.get(w, [w])}}


def command_of(verb):
    return "verify" if verb == "write_manifest" else verb


def python_names():
    """Keywords of Python's verbs that are no options of the command of that name, which for conversions are two."""
    for verb, where in VERBS.items():
        commands = ("convert", "quantize") if verb in ("convert", "quantize") else (command_of(verb),)
        known = set().union(*map(options_of, commands))
        for word in keywords(*where):
            if word.replace("_", "-") not in known and word not in PYTHON_ONLY:
                yield f"{where[0]}: {verb}({word}=): the command has no --{word.replace('_', '-')}"


# Options of every command that only a command line has a use for.
OF_A_LINE = {"json", "quiet", "verbose", "no-color", "help", "cpu", "output"}


def unnamed():
    """Options of a command that the verb of its name has no keyword for, and docs/python.md does not name."""
    text = (CLI.parent / "docs/python.md").read_text()
    for verb, where in VERBS.items():
        has = {word.replace("_", "-") for name, one in VERBS.items() if command_of(name) == verb for word in keywords(*one)}
        for option in sorted(options_of(command_of(verb)) - has - OF_A_LINE if command_of(verb) == verb else ()):
            if not re.search(rf"--{option}(?![\w-])", text):
                yield f"docs/python.md: {verb} has no keyword for --{option}, and the page does not say so"


def misnamed():
    table = (CLI.parent / "src/ops/options/option_table.c").read_text()
    cli = "".join(path.read_text() for path in sorted(CLI.glob("*.c")))
    python = {word for where in VERBS.values() for word in keywords(*where)} | {"mix"}
    names = re.findall(r'\b(?:ROW|CHOICE|OWN|FLAG)\(\w+, "(\w+)"', table)
    if len(names) < 40:
        yield "src/ops/options/option_table.c: its rows are written in another way than this script knows"
    for name in names:
        word = name.replace("_", "-")
        if name not in ARGUMENTS and not re.search(rf'(\.name = |CLI_NAMED\()"{word}"', cli):
            yield f"{name}: the command has no --{word}"
        if name not in python and name not in IMPLIED:
            yield f"{name}: Python has no {name}="
        if re.search(rf'\.name = "{word}",[^}}]*?\.choices', cli) and re.search(rf'CHOICE\(\w+, "{name}"', table) \
                and name != "effort":
            yield f"--{word}: the words are the library's; CLI_NAMED takes them from there"


# What a row of the command that reads an option of the library itself must have, by the library's kind.
READS = {"BOOL": "flag", "SIZE": "size", "REAL": "real", "RULE": "list", "NUMBER": "number|text", "TYPE": "encoding|text",
         "TEXT": "text|list", "CHOICE": "text"}
COMMANDS = {"CONVERT": ("cmd_convert.c", "cmd_quantize.c", "arguments.c"), "QUANTIZE": ("cmd_quantize.c",),
            "PACK": ("cmd_pack.c", "arguments.c"), "UNPACK": ("cmd_unpack.c", "arguments.c")}


def misread():
    """Options of both tables whose values the command reads as another kind, or with other words."""
    table = (CLI.parent / "src/ops/options/option_table.c").read_text()
    rows = re.findall(r'\b(ROW|OWN)\((\w+), "(\w+)", (\w+),', table)
    rows += [(macro, verb, name, "BOOL" if macro == "FLAG" else "CHOICE") for macro, verb, name in
             re.findall(r'\b(FLAG|CHOICE)\(\s*(\w+), "(\w+)"', table)]
    words = dict(re.findall(r'\bCHOICE\(\s*\w+, "(\w+)", "([^"]*)"', table))
    for _, verb, name, kind in rows:
        for file in COMMANDS.get(verb, ("arguments.c",)):
            own = re.search(rf'\{{\.name = "{name.replace("_", "-")}",(.*?)\}},?\n', (CLI / file).read_text(), re.S)
            if not own:
                continue
            if kind in READS and not re.search(rf"\.({READS[kind]}) = ", own[1]):
                yield f"{file}: --{name}: the library reads {kind}, the command another kind"
            choices = re.search(r'\.choices = "([^"]*)"', own[1])
            if kind == "CHOICE" and (not choices or choices[1] != words[name]):
                yield f"{file}: --{name}: its words are not the library's: {words[name]}"


def main():
    known, faults = functions(), [*misnamed(), *python_names(), *unnamed(), *misread()]
    for path in sorted(CLI.glob("cmd_*.c")):
        text = path.read_text()
        bodies = reachable(known, (path.name, "run"))
        for option, target in own_targets(text):
            if target != "cli.output" and not is_read(target, path.name, text, bodies):  # main makes it an argument
                faults.append(f"{path.name}: --{option}: nothing reads {target}")
        taken = re.search(r"\.takes = ([^,]*),", text)
        words = re.findall(r"CLI_TAKES_(\w+)", taken.group(1)) if taken else []
        for word in [b for w in words for b in GROUPS.get(w, [w])]:
            for member in BITS[word]:
                if not any(re.search(rf"\bcli\.{member}\b(?! = )", body) for _, body in bodies):
                    faults.append(f"{path.name}: takes {word}, but nothing reads cli.{member}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
