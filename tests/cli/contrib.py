#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contrib.py TARE SOURCE: what is in contrib, at work. `git diff` through the text conversion shows the key and
the tensor that changed and nothing else; the action's script makes annotations of findings, and its exit code is
the command's; recipes have the names and digests of the archives, and nothing is left to be filled in."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

tare, source = map(os.path.abspath, sys.argv[1:3])
failures = []


def check(what, is_right, shown):
    if not is_right:
        failures.append(f"{what}:\n{shown}")


def run(*command, code=0, **env):
    done = subprocess.run(command, env={**os.environ, "TARE": tare, "GIT_CONFIG_GLOBAL": "/dev/null", **env},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(f"{command}: exit code {done.returncode}, not {code}", done.returncode == code, done.stdout)
    return done.stdout


def git(*arguments, **env):
    return run("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *arguments, **env)


def changed(diff):
    return [line for line in diff.splitlines() if re.match(r"[-+][^-+]", line)]


def try_git():
    git("init", "-q")
    git("config", "diff.tare.textconv", os.path.join(source, "contrib/git/tare-textconv"))
    with open(".gitattributes", "w") as file:
        file.write("*.gguf diff=tare\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    run(tare, "edit", "m.gguf", "--set", "general.name=Other", "--quiet")
    diff = changed(git("diff"))
    check("a key", diff == ["-key general.name string = Model", "+key general.name string = Other"], "\n".join(diff))
    run(tare, "edit", "m.gguf", "--set", "general.name=Zed", "--quiet")
    diff = changed(git("diff"))
    check("room for edits is no news", diff == ["-key general.name string = Model", "+key general.name string = Zed"], "\n".join(diff))
    git("commit", "-q", "-a", "-m", "second")
    with open("m.gguf", "r+b") as file: # the last byte of the last tensor
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    diff = changed(git("diff"))
    names = {line.split("  ")[-1] for line in diff}
    check("a tensor", len(diff) == 2 and len(names) == 1, "\n".join(diff))
    check("no values are read", not changed(git("diff", TARE_TEXTCONV="quick")), "")
    git("checkout", "-q", "m.gguf")
    with open("pointer.gguf", "w") as file:
        file.write("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n")
    git("add", "pointer.gguf")
    diff = changed(git("diff", "--cached"))
    git("rm", "-q", "--cached", "pointer.gguf")
    os.remove("pointer.gguf")
    check("a pointer", len(diff) == 2 and "no model: a Git LFS pointer" in diff[0], "\n".join(diff))
    convert = os.path.join(source, "contrib/git/tare-textconv")
    with open("m.gguf", "rb") as whole, open("cut", "wb") as file:
        file.write(whole.read()[:-5])
    out = run(sys.executable, "-B", convert, "cut")
    check("a file that is cut", "\nvalues of tensors cannot be read\n" in out, out[-500:])
    out = run(sys.executable, "-B", convert, "m.gguf", TARE="no-such", code=1)
    check("no command", out.startswith("tare-textconv: no-such: No such file"), out)


def try_action():
    script = os.path.join(source, "contrib/github-action/verify.py")
    out = run(sys.executable, "-B", script, TARE_MODELS="*.gguf\n", GITHUB_STEP_SUMMARY="summary.md")
    check("no finding", "::" not in out and "| m.gguf | good | 0 | 0 |" in out, out)
    os.makedirs("model/.git", exist_ok=True)
    out = run(sys.executable, "-B", script, TARE_MODELS="model")
    check("a note", "::notice file=model::" in out and "| model | good | 0 | 0 |" in out, out)
    with open("policy.json", "w") as file:
        file.write('{"license": true, "types": ["f16"]}')
    out = run(sys.executable, "-B", script, TARE_MODELS="m.gguf\n\n  none.gguf", TARE_POLICY="policy.json", code=4)
    check("findings", "::error file=m.gguf::the model states no license [policy.license]\n" in out, out)
    check("a missing file", "::error file=none.gguf::" in out and "| none.gguf | bad | 1 | 0 |" in out, out)
    with open("summary.md") as file:
        check("the summary", "| m.gguf | good | 0 | 0 |" in file.read(), out)
    with open("policy.json", "w") as file:
        file.write('{"licence": true}')
    out = run(sys.executable, "-B", script, TARE_MODELS="m.gguf", TARE_POLICY="policy.json", code=2)
    check("a policy that is wrong", '::error file=policy.json::key "licence": policy: no such rule' in out, out)
    out = run(sys.executable, "-B", script, TARE_MODELS="m.gguf", TARE_DEEP="yes", code=2)
    check("a word that is no switch", '::error::deep: "yes" is neither true nor false\n' in out, out)
    out = run(sys.executable, "-B", script, TARE_MODELS="m.gguf", TARE="no-such-command", code=4)
    check("no command", "::error::no-such-command: No such file" in out, out)


def try_recipes():
    """The archives of a release, each with its own name in it."""
    version = run(tare, "--version").split()[1]
    names = [f"tare-{version}-{machine}-{system}" for machine in ("x86_64", "aarch64")
             for system in ("linux.tar.gz", "macos.tar.gz", "windows.zip")] + [f"tare-{version}.tar.gz"]
    os.mkdir("archives")
    for name in names:
        with open(os.path.join("archives", name), "w") as file:
            file.write(name)
    ask = (sys.executable, "-B", os.path.join(source, "scripts/recipes"), "archives", "https://a.example/b/", "https://a.example", "made")
    run(*ask)
    text = ""
    for name in os.listdir("made"):
        with open(os.path.join("made", name)) as file:
            text += file.read().replace("between @.", "")
    check("all is filled in", "@" not in text, text)
    for name in names:
        digest = hashlib.sha256(name.encode()).hexdigest()
        check(name, f"https://a.example/b/{name}" in text and text.count(digest) == 1, text)
    os.remove(os.path.join("archives", names[0]))
    check("an archive is missing", names[0] in run(*ask, code=1), "")


def main():
    if not shutil.which("git"):
        print("SKIP: no git")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run(tare, "synth", "llama-chat", "model", "--to", "hf", "--quiet")
        run(tare, "convert", "model", "m.gguf", "--type", "q8_0", "--name", "Model", "--quiet")
        try_git()
        try_action()
        try_recipes()
        os.chdir("/")
    print("\n".join(failures) or "git diff, the action and the recipes show what they should")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
