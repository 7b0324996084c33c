#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""completions.py TARE SHELL: what the completion of bash, zsh or fish offers, asked of the shell itself.

bash and zsh run on a terminal of their own: a line is typed, the tab key writes every match into it,
and another key writes the line to a file. fish has a command that says what it would offer. Exit 77
where the shell is missing.
"""
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FILES = ("model.gguf", "Other.gguf", "convert")  # a file with the name of a command, too
WAIT = 60

# A line, and what is offered for its last word: all of it, or with "..." some of it; "not" words are
# not offered.
ROWS = (
    ("tare con", "convert"),
    ("tare CON", "convert"),
    ("tare --ver", "--version"),
    ("tare completion ", "bash zsh fish"),
    ("tare completion bash ", ""),
    ("tare help VER", "verify"),
    ("tare info --so", "--sort"),
    ("tare info --SO", "--sort"),
    ("tare info --sort ", "name size type"),
    ("tare info --sort=n", "name"),
    ("tare info mod", "model.gguf"),
    ("tare info ", "model.gguf Other.gguf convert"),
    ("tare diff --brief model.gguf Other.gguf ", "model.gguf Other.gguf convert"),
    ("tare info --sort size ", "model.gguf Other.gguf convert"),
    ("tare verify model.gguf mod", "model.gguf"),
    ("tare verify --manifest mod", "model.gguf"),
    ("tare convert model.gguf out.gguf --to ", "mlx gguf mcf safetensors infq wcodec hf whisper"),
    ("tare convert --to=MC", "mcf"),
    ("tare convert --type Q8", "q8_0 q8"),
    ("tare convert --type mod", ""),
    ("tare convert --to mod", ""),
    ("tare convert --shard-size m", ""),
    ("tare convert --o", "--opaque --outliers --output ... not --order"),
    ("tare quantize mod", "model.gguf"),
    ("tare quantize model.gguf mod", "model.gguf"),
    ("tare quantize --pure model.gguf --threads 2 out.gguf q4_k_", "Q4_K_S Q4_K_M"),
    ("tare quantize model.gguf out.gguf ", "Q8_0 Q4_K_M ... not model.gguf"),
    ("tare synth ", "llama-tiny llama-8b ... not model.gguf"),
    ("tare synth llama-tiny mod", "model.gguf"),
    ("tare extract model.gguf mod", ""),
    ("tare nothing ", ""),
)


# Ctrl-X writes the line under another name first, so that the answer is there whole or not at all.
# bash has a key function that inserts all matches; in zsh a function that runs afterwards asks for it.
# Both keys begin longer sequences that are bound, too, for which a shell would wait half a second.
BASH = r"""PS1= PS2=; source ../tare.bash
bind 'set bell-style none'; bind 'set keyseq-timeout 1'; bind '"\t": insert-completions'
answer() { printf '%s' "$READLINE_LINE" > ../part; mv ../part ../answer; }
bind -x '"\C-x": answer'; : > ../ready"""
ZSH = r"""PS1= PS2= KEYTIMEOUT=1; unsetopt zle_bracketed_paste 2>/dev/null
fpath=(.. $fpath); autoload -U compinit; compinit -D -u
all() { compstate[insert]=all; compstate[list]= }
ask() { comppostfuncs=(all); zle complete-word }; zle -N ask; bindkey '^I' ask
answer() { print -rn -- "$BUFFER" > ../part; mv ../part ../answer }; zle -N answer
bindkey '^X' answer; : > ../ready"""


class Typist:
    """An interactive shell on a terminal, in the folder `files` of a directory."""

    def __init__(self, words, first_lines, directory, env):
        self.directory = directory
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(os.path.join(directory, "files"))
            os.execvpe(words[0], words, env)
        self.write(first_lines + "\n")
        self.read("ready")

    def write(self, text):
        os.write(self.fd, text.encode())

    def read(self, name):
        """What stands in a file that the shell is about to make; its echo is read meanwhile, for
        which it would wait."""
        path = os.path.join(self.directory, name)
        until = time.monotonic() + WAIT
        echo = b""
        while not os.path.exists(path):
            if time.monotonic() > until:
                sys.exit("the shell does not answer; it wrote %r" % echo[-2000:])
            if select.select([self.fd], [], [], 0.01)[0]:
                echo += os.read(self.fd, 65536)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        os.remove(path)
        return text

    def offered(self, line):
        """The words that take the place of the last one; none where nothing is offered."""
        self.write("\x15" + line + "\t\x18")
        answer = self.read("answer")
        before = re.match(r"(.*[ =])?", line)[0]
        if not answer.startswith(before) or answer.rstrip() == line.rstrip():
            return []
        return shlex.split(answer[len(before):])

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Fish:
    """fish says by itself what it would offer, with descriptions behind a tab."""

    def __init__(self, fish, directory, env):
        self.fish, self.directory, self.env = fish, directory, env

    def offered(self, line):
        done = subprocess.run([self.fish, "--no-config", "-c",
                               "source ../tare.fish; and complete -C -- $argv[1]", line],
                              cwd=os.path.join(self.directory, "files"), env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT)
        if done.returncode or done.stderr:
            sys.exit("fish: exit %d: %s" % (done.returncode, done.stderr))
        words = [x.partition("\t")[0] for x in done.stdout.splitlines()]
        return [w.partition("=")[2] if w.startswith("--") and line[-1] != "-" and "=" in w else w
                for w in words]

    def close(self):
        pass


def complaint(row, offered):
    """What is wrong with what is offered; None: nothing."""
    _, wanted, unwanted, is_all = row
    if any(w not in offered for w in wanted):
        return "not offered"
    if is_all and len(offered) != len(wanted) or any(w in offered for w in unwanted):
        return "offered, but not wanted"
    return None


def usual(line, offered):
    """The same words of every shell: zsh writes "=" behind an option that takes a value, and offers
    options where an argument may stand, too."""
    is_option = line.split(" ")[-1].startswith("-")
    return [w.removesuffix("=") for w in offered if is_option or not w.startswith("-")]


def parsed(line, words):
    wanted, _, unwanted = words.partition("not ")
    return line, wanted.replace("...", "").split(), unwanted.split(), "..." not in words and not unwanted


def main():
    tare, shell = sys.argv[1:3]
    program = shutil.which(shell)
    if not program:
        print("SKIP: no %s" % shell)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="tare-cli-") as directory:
        env = {"HOME": directory, "LC_ALL": "C.UTF-8", "TERM": "dumb", "PATH": os.environ["PATH"]}
        script = "_tare" if shell == "zsh" else "tare." + shell  # zsh finds it by its name
        with open(os.path.join(directory, script), "wb") as f:
            subprocess.run([tare, "completion", shell], check=True, stdout=f)
        os.mkdir(os.path.join(directory, "files"))
        for name in FILES:
            open(os.path.join(directory, "files", name), "wb").close()
        if shell == "fish":
            session = Fish(program, directory, env)
        else:
            words = [shell, "--norc", "--noprofile", "-i"] if shell == "bash" else [shell, "-f", "-i"]
            session = Typist(words, BASH if shell == "bash" else ZSH, directory, env)
        n_failed = 0
        for row in ROWS:
            offered = usual(row[0], session.offered(row[0]))
            found = complaint(parsed(*row), offered)
            if found:
                n_failed += 1
                print("FAIL %r: %s: %s" % (row[0], found, " ".join(offered)))
        session.close()
    print("%s: %d lines, %d failed" % (shell, len(ROWS), n_failed))
    sys.exit(n_failed != 0)


if __name__ == "__main__":
    main()
