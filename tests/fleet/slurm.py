#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurm.py TARE SOURCE: contrib/slurm against a real slurmctld with two slurmd on this machine. A job of parts gives
the bytes of one run where nothing happens; where a task is killed, a node dies and the controller is started
anew while parts are at work, the same, and nothing is left behind. Skipped (77) where Slurm's daemons or munge
are missing, or without the rights of root, which they want."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

tare, source = map(os.path.abspath, sys.argv[1:3])
TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
PARTS = 6
PART = "./part"  # what the jobs run: tare, which stands still while there is a file "hold"
PART_TEXT = """#!/bin/sh
[ ! -e hold ] || [ -z "$SLURM_JOB_ID" ] || kill -STOP $$
exec "{tare}" "$@"
"""
CONF = """ClusterName=t
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
SlurmdPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=300
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port1} CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port2} CPUs=1 State=UNKNOWN
PartitionName=p Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""
started = {}


def find(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def start(name, *command):
    """A daemon in the foreground, whose process is ours to end."""
    log = open(f"{name}.out", "ab")
    started[name] = subprocess.Popen((find(command[0]), *command[1:]), stdout=log, stderr=log, start_new_session=True)


def stop(name, how=signal.SIGTERM):
    process = started.pop(name)
    process.send_signal(how)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def wait_for(what, is_so, seconds):
    end = time.time() + seconds
    while time.time() < end:
        if is_so():
            return True
        time.sleep(0.3)
    print(f"not after {seconds} s: {what}\n{ask('sinfo')}{ask('squeue')}")
    return False


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def start_cluster(folder):
    for name in ("state", "spool-n1", "spool-n2"):
        os.mkdir(name)
    with open("munge.key", "wb") as file:
        file.write(os.urandom(1024))
    os.chmod("munge.key", 0o400)
    start("munged", "munged", "--foreground", "--force", f"--socket={folder}/munge.sock", f"--key-file={folder}/munge.key",
          f"--log-file={folder}/munged.log", f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munge.seed")
    port, port1, port2 = free_ports(3)
    host = socket.gethostname().split(".")[0]
    with open("slurm.conf", "w") as file:
        file.write(CONF.format(folder=folder, host=host, port=port, port1=port1, port2=port2))
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
    if not wait_for("munge", lambda: os.path.exists("munge.sock"), 20):
        skip("munged does not start")
    start("slurmctld", "slurmctld", "-D", "-f", "slurm.conf")
    for node in ("n1", "n2"):
        start(node, "slurmd", "-D", "-N", node, "-f", "slurm.conf")
    return wait_for("two idle nodes", lambda: ask("sinfo", "-h", "-t", "idle", "-N", "-o", "%N").split() == ["n1", "n2"], 60)


def is_over():
    return not ask("squeue", "-h").strip()


def submit(out, *more):
    done = subprocess.run((f"{source}/contrib/slurm/tare-submit", str(PARTS), "quantize", "m.gguf", out, "Q4_K_M", "-j1", *more),
                          capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    return done.stdout.split()[1].rstrip(",") if done.returncode == 0 else None


def compare(out):
    """What is wrong with an output."""
    left = [n for n in os.listdir(".") if out in n and n != out]
    with open("whole.gguf", "rb") as file:
        expected = file.read()
    if not os.path.exists(out):
        return [f"{out} was not made", *left]
    with open(out, "rb") as file:
        return (["not the bytes of one run"] if file.read() != expected else []) + left


def held_parts(out):
    """Process ids of parts of an output that stand still before their work, by their command lines."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        process = path.split("/")[2]
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{process}/stat", "rb") as file:
                state = file.read().rsplit(b") ", 1)[1][:1]
            if state == b"T" and PART.encode() in words[1:2] and out.encode() in words and b"--part" in words:
                found.append(int(process))
        except OSError:
            pass
    return found


def let_go(out):
    for process in held_parts(out):
        os.kill(process, signal.SIGCONT)


def belongs_to(process, node):
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return f"SLURMD_NODENAME={node}\0".encode() in file.read()
    except OSError:
        return False


def try_quiet():
    job = submit("quiet.gguf")
    return compare("quiet.gguf") if job and wait_for("the job", is_over, 240) else ["the job did not end"]


def try_forced():
    """An output that is there is refused, or replaced; so is a command that makes no such output, before a job starts."""
    with open("quiet.gguf", "w") as file:
        file.write("old")
    if submit("quiet.gguf") or submit("-q") or submit("x.gguf", "--no-such"):
        return ["a job that cannot do it was started"]
    job = submit("quiet.gguf", "--force")
    return compare("quiet.gguf") if job and wait_for("the job", is_over, 240) else ["the job did not end"]


def try_rough():
    """Parts are held at their beginning while things go wrong around them, so that none is over too early."""
    out = "rough.gguf"
    open("hold", "w").close()
    both = lambda: len(held_parts(out)) == 2
    if not submit(out) or not wait_for("two parts at work", both, 60):
        return ["no part is at work"]
    killed = held_parts(out)[0]
    os.kill(killed, signal.SIGKILL)
    print("killed a part")
    if not wait_for("a part at work again", lambda: both() and killed not in held_parts(out), 60):
        return ["no part is at work again"]
    stop("slurmctld")
    start("slurmctld", "slurmctld", "-D", "-f", "slurm.conf")
    print("started the controller anew")
    if not wait_for("the controller", lambda: ask("sinfo", "-h") != "", 30):
        return ["the controller does not come back"]
    lost = [process for process in held_parts(out) if belongs_to(process, "n2")]
    if not lost:
        return ["the second node has no part"]
    stop("n2", signal.SIGKILL)
    for process in lost:
        os.kill(process, signal.SIGKILL)
    print("killed a node and its part")
    time.sleep(2)
    start("n2", "slurmd", "-D", "-N", "n2", "-f", "slurm.conf")
    os.remove("hold")
    return compare(out) if wait_for("the job", lambda: let_go(out) or is_over(), 300) else ["the job did not end"]


def main():
    missing = [name for name in TOOLS if not find(name)]
    if missing:
        skip(f"not installed: {', '.join(missing)} (apt install slurmctld slurmd slurm-client munge)")
    if os.geteuid() != 0:
        skip("Slurm's daemons want root")
    folder = os.getcwd()
    with open(PART, "w") as file:
        file.write(PART_TEXT.format(tare=tare))
    os.chmod(PART, 0o755)
    os.environ.update(TARE=PART, TARE_PAUSE="1")
    subprocess.run((tare, "synth", "llama-300m", "m.gguf", "--type", "f16", "-q"), check=True)
    subprocess.run((tare, "quantize", "m.gguf", "whole.gguf", "Q4_K_M", "-q"), check=True)
    if not start_cluster(folder):
        skip("no two nodes of Slurm start here")
    faults = []
    for step in (try_quiet, try_forced, try_rough):
        found = step()
        print(f"{step.__name__}: {found or 'right'}")
        faults += found
    if faults:
        for path in sorted(glob.glob("slurm-*.out")):
            with open(path) as file:
                print(path, file.read()[-500:])
    return bool(faults)


with tempfile.TemporaryDirectory(dir=os.environ.get("TARE_TEST_FOLDER")) as scratch:
    os.chmod(scratch, 0o755)  # munge wants to be reached by all
    os.chdir(scratch)
    try:
        code = main()
    finally:
        for daemon in list(started):
            stop(daemon)
        os.chdir("/")
print("FAIL" if code else "the parts of Slurm's jobs fit")
sys.exit(code)
