# SPDX-License-Identifier: MIT
"""Faults of the system: for a list of verbs each call of a group fails once, with fail_call.c. What must
hold: the exit code is not 0, or the output is right; no crash; the old output is intact, or the new one
is whole under its name; nothing half-written stays. Where there are many calls, some of them do, with
--short fewer. `faults.py TARE SHIM FOLDER [--short]`"""
import errno
import functools
import glob
import hashlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "golden")]
import torchbuilder  # noqa: E402
from safetensors_file import safetensors  # noqa: E402

GROUPS = {"open": (errno.EIO, errno.EACCES), "list": (errno.EIO,), "stat": (errno.EIO, errno.EACCES),
          "read": (errno.EIO,), "write": (errno.ENOSPC, errno.EIO), "sync": (errno.EIO,),
          "rename": (errno.EIO,), "remove": (errno.EIO,), "map": (errno.ENOMEM,), "memory": (errno.ENOMEM,),
          "thread": (errno.EAGAIN,)}
MOST = 8 if "--short" in sys.argv else 25  # calls of a group that fail, of one verb
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 64,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 8,
          "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu"}


def make_model(folder):
    os.makedirs(folder)

    def tensor(name, *shape):
        n = 1
        for d in shape:
            n *= d
        return name, "F32", list(shape), bytes(4 * n)
    block = "model.layers.0."
    tensors = [tensor("model.embed_tokens.weight", 8, 32), tensor("lm_head.weight", 8, 32),
               tensor("model.norm.weight", 32), tensor(block + "input_layernorm.weight", 32),
               tensor(block + "post_attention_layernorm.weight", 32)]
    tensors += [tensor(block + "self_attn.%s_proj.weight" % n, 32, 32) for n in "qkvo"]
    tensors += [tensor(block + "mlp.gate_proj.weight", 64, 32), tensor(block + "mlp.up_proj.weight", 64, 32),
                tensor(block + "mlp.down_proj.weight", 32, 64)]
    with open(folder + "/model.safetensors", "wb") as f:
        f.write(safetensors(tensors, {"format": "pt"}))
    with open(folder + "/config.json", "w") as f:
        json.dump(CONFIG, f)
    with open(folder + "/README.md", "w") as f:
        f.write("---\nlicense: mit\n---\n")


def make_others(folder):
    """Models of other programs, and an adapter."""
    with open(folder + "/m.pt", "wb") as f:
        f.write(torchbuilder.archive(torchbuilder.dict_of(t=torchbuilder.tensor()), {"0": bytes(24)}).file())
    with zipfile.ZipFile(folder + "/m.npz", "w") as z:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }".ljust(117) + b"\n"
        z.writestr(zipfile.ZipInfo("a.npy"), b"\x93NUMPY\1\0\x76\0" + header + bytes(64))
    os.makedirs(folder + "/lora")
    module = "base_model.model.model.layers.0.self_attn.q_proj.lora_%s.weight"
    with open(folder + "/lora/adapter_model.safetensors", "wb") as f:
        f.write(safetensors([(module % "A", "F32", [2, 32], bytes(256)), (module % "B", "F32", [32, 2], bytes(256))]))
    with open(folder + "/lora/adapter_config.json", "w") as f:
        json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": ["q_proj"]}, f)


def contents(folder):
    """Digests of all files below a folder, by path."""
    out = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, "rb") as f:
                out[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return out


class Verb:
    most = MOST

    def __init__(self, tare, shim, root, name, arguments, wrong):
        self.tare, self.shim, self.root, self.name = tare, shim, root, name
        self.arguments, self.wrong = arguments, wrong

    def prepare(self):
        shutil.rmtree(self.root + "/run", ignore_errors=True)
        shutil.copytree(self.root + "/base", self.root + "/run")

    def run(self, **settings):
        env = {**os.environ, **{k: str(v) for k, v in settings.items()}}
        if settings:
            env["LD_PRELOAD"] = self.shim
        return subprocess.run([self.tare, *self.arguments, "--threads", "2"], cwd=self.root + "/run", env=env,
                              capture_output=True, timeout=60)

    def check(self):
        """What it says and leaves when nothing fails, then with each call that does."""
        self.prepare()
        before = contents(self.root + "/run")
        right = self.run()
        assert right.returncode == 0, (self.name, right.stderr)
        after, n = contents(self.root + "/run"), 0
        for group, errors in GROUPS.items():
            self.prepare()
            count = self.root + "/count"
            self.run(FAIL_CALL=group, FAIL_COUNT=count)
            with open(count) as f:
                n_calls = int(f.read())
            assert n_calls or group not in ("open", "read", "memory"), "%s: no %s was seen" % (self.name, group)
            step = max(1, n_calls // self.most)
            for number in errors:
                for at in range(1, n_calls + 1, step):
                    self.prepare()
                    done = self.run(FAIL_CALL=group, FAIL_AT=at, FAIL_ERRNO=number)
                    wrong = self.judge(done, right, before, after)
                    if wrong:
                        self.wrong.append("%s, %s %d, %s: %s" % (self.name, group, at, errno.errorcode[number], wrong))
                    n += 1
        return n

    def judge(self, done, right, before, after):
        """What is wrong; empty: nothing."""
        now = contents(self.root + "/run")
        if done.returncode < 0:
            return "killed by signal %d" % -done.returncode
        if done.returncode == 0 and now != after:
            return "exit 0, another output: %s" % sorted(set(now.items()) ^ set(after.items()))
        if done.returncode == 0 and done.stdout != right.stdout:
            return "exit 0, another text: %s" % done.stdout
        if done.returncode and not done.stderr and b"report.lost" not in done.stdout:
            return "exit %d, and no word" % done.returncode
        whole = [f for f in after if f not in before and now.get(f) == after[f] and f.encode() in done.stderr]
        if done.returncode and now not in (before, after, {**before, **{f: after[f] for f in whole}}):
            return "exit %d, left behind: %s: %s" % (
                done.returncode, sorted(set(now.items()) ^ set(before.items())), done.stderr)
        return ""


class Mount(Verb):
    """A packed file as a file system, of which everything is read; then it is unmounted. A fault is said by the command, or by
    a line of the log and an error of the read; the process that serves ends with the mount."""
    most = 6

    def of_mount(self):
        """The processes that name the folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    if (self.root + "/mnt").encode() in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return [pid for pid in found if pid != os.getpid()]

    def run(self, **settings):
        folder, log = self.root + "/mnt", self.root + "/log"
        os.makedirs(folder, exist_ok=True)
        open(log, "w").close()
        env = {**os.environ, **{k: str(v) for k, v in settings.items()}, **({"LD_PRELOAD": self.shim} if settings else {})}
        with open(self.root + "/out", "w+b") as out:  # a process that stays has it, too
            done = subprocess.Popen([self.tare, "mount", *self.arguments, folder, "--log", log, "--threads", "2"],
                                    cwd=self.root + "/run", env=env, stdout=out, stderr=out)
            try:
                done.wait(10)
            except subprocess.TimeoutExpired:
                done.kill()
                done.wait()
            out.seek(0)
            done.said = out.read()
        read = {}
        if os.path.ismount(folder):
            try:
                for name in os.listdir(folder):
                    with open(folder + "/" + name, "rb") as f:
                        read[name] = hashlib.sha256(f.read()).hexdigest()
            except OSError as fault:
                read["fault"] = fault.strerror
            subprocess.run([self.tare, "mount", "-u", folder], capture_output=True)
        end = time.monotonic() + 10
        while self.of_mount() and time.monotonic() < end:
            time.sleep(0.02)
        stays = self.of_mount()
        for pid in stays:
            os.kill(pid, signal.SIGKILL)
        stays += [folder] if os.path.ismount(folder) else []
        with open(log, "rb") as f:
            done.log = f.read()
        done.read, done.stays = read, stays
        return done

    def judge(self, done, right, before, after):
        if done.returncode < 0:
            return "killed by signal %d" % -done.returncode
        if done.stays:
            return "exit %d, still there: %s: %s" % (done.returncode, done.stays, done.said + done.log)
        if done.returncode:
            return "" if done.said else "exit %d, and no word" % done.returncode
        wrong = {n: d for n, d in done.read.items() if n != "fault" and d != right.read.get(n)}
        if wrong:
            return "another content: %s" % wrong
        return "" if done.log or done.read == right.read else "%s, and no line in the log" % done.read


class Get(Verb):
    """A download, of which what has arrived may stay for the next one to go on from, and the folder that it is in."""

    def judge(self, done, right, before, after):
        for part in glob.glob(self.root + "/run/**/.*.tare-part", recursive=True):
            if done.returncode and (b".tare-part" in done.stderr or not os.path.getsize(part)):
                os.remove(part)
        return super().judge(done, right, before, after)


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    tare, shim, root = sys.argv[1:4]
    shutil.rmtree(root, ignore_errors=True)
    make_model(root + "/base/hf")
    for arguments in (["convert", "hf", "m.gguf", "--no-tokenizer"], ["pack", "m.gguf", "m.wcodec"],
                      ["convert", "hf", "old.gguf", "--no-tokenizer", "--type", "f16"],
                      ["pack", "hf", "old.wcodec"]):
        subprocess.run([tare, *arguments, "--quiet"], cwd=root + "/base", check=True, capture_output=True)
    os.makedirs(root + "/base/ladder")
    for name in ("m.gguf", "old.gguf"):
        shutil.copy(root + "/base/" + name, root + "/base/ladder")
    subprocess.run([tare, "pack", "ladder", "steps.wcodec", "--quiet"], cwd=root + "/base", check=True, capture_output=True)
    subprocess.run([tare, "quantize", "m.gguf", "more.gguf", "Q8_0", "--quiet"], cwd=root + "/base", check=True, capture_output=True)
    make_others(root + "/base")
    verbs = {
        "info": ["info", "hf"],
        "info of a file": ["info", "-t", "m.gguf"],
        "verify": ["verify", "--deep", "m.wcodec"],
        "diff": ["diff", "m.gguf", "m.wcodec", "--json"],
        "convert": ["convert", "hf", "old.gguf", "--no-tokenizer", "--force", "--type", "f32"],
        "convert to a directory": ["convert", "m.wcodec", "new.safetensors"],
        "convert to HF": ["convert", "m.gguf", "hf2", "--to", "hf"],
        "quantize to several": ["quantize", "hf", ".", "--sizes", "Q8_0,F16", "--no-tokenizer"],
        "quantize for servers": ["quantize", "hf", "hf2", "w8a16:g32"],
        "quantize": ["quantize", "hf", "q.gguf", "Q8_0", "--no-tokenizer"],
        "pack against a base": ["pack", "old.gguf", "new.wcodec", "--base", "m.gguf"],
        "verify against": ["verify", "old.gguf", "--against", "hf"],
        "report": ["report", "m.gguf", "-o", "x.html"],
        "pack": ["pack", "hf", "old.wcodec", "--force"],
        "unpack": ["unpack", "m.wcodec", "old.gguf", "--force"],
        "unpack a directory": ["unpack", "old.wcodec", "hf2"],
        "edit": ["edit", "m.gguf", "--set", "general.name=x"],
        "extract": ["extract", "hf", "model.norm.weight", "-o", "x.npy"],
        "verify derived": ["verify", "old.gguf", "--derived-from", "hf"],
        "pack a ladder": ["pack", "ladder", "ladder.wcodec"],
        "unpack a ladder": ["unpack", "steps.wcodec", "steps"],
        "info of several": ["info", "m.gguf", "old.gguf", "old.wcodec"],
        "MCF": ["convert", "hf", "x.mcf"],
        "a pickle": ["convert", "m.pt", "x.safetensors"],
        "arrays in a zip archive": ["convert", "m.npz", "x.safetensors"],
        "a file of a ladder": ["convert", "steps.wcodec::old.gguf", "x.gguf"],
        "another file of a ladder": ["pack", "--append", "steps.wcodec", "more.gguf"],
        "a part": ["convert", "hf", "x.gguf", "--no-tokenizer", "--part", "1/2"],
        "an adapter": ["convert", "hf", "hf2", "--to", "hf", "--apply-adapter", "lora"],
        "a pair of an adapter": ["convert", "hf", "x.gguf", "--lora", "lora"],
    }
    wrong = []
    every = [Verb(tare, shim, root, name, arguments, wrong) for name, arguments in verbs.items()]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=root + "/base"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    every.append(Get(tare, shim, root, "get", ["get", "http://127.0.0.1:%d/m.gguf" % server.server_port, "got"], wrong))
    mount = Mount(tare, shim, root, "mount", ["m.wcodec"], wrong)
    mount.prepare()
    if mount.run().returncode == 0:
        every.append(mount)
    else:
        print("nothing can be mounted here")
    n = sum(verb.check() for verb in every)
    print("%d faults in %d verbs" % (n, len(every)))
    sys.exit("\n".join(wrong) or 0)


main()
