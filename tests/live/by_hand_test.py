#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The live `command` line beside the same done by hand.

  by_hand_test.py MANOMETER [nobody]

A program that reads a file larger than its group's memory is run by `manometer run command
--substrate live`. It reads the pressure of its own group, its memory.stat and /proc/vmstat by itself
before and after its work. Manometer's readings lie around these: each of its counts must be at least
as large, and larger only by what starting and ending the program costs. Then the script makes a group
itself and does the same once more without Manometer, and prints all three side by side.

Without the right to make groups, the pressure of the probe must be null, with the reason.
"""
import json
import os
import subprocess
import sys
import time

import rig

MIB = 1 << 20
LIMIT = 128 * MIB
FILE = 160 * MIB
PASSES = 3
# A jiffy a CPU is what the kernel may move from one reading to the next; starting Python under the
# limit faults and reclaims a little as well.
SLACK_US = 60_000
SLACK_SHARE = 0.10


def pressure(group):
    found = {}
    for what in ("memory", "io"):
        for line in rig.read(f"{group}/{what}.pressure").splitlines():
            kind, *words = line.split()
            found[f"psi.probe.{what}.{kind}.total_us"] = int(words[-1].split("=")[1])
    return found


def readings():
    v2, v1 = rig.own_groups()
    found = {}
    for line in rig.read("/proc/vmstat").splitlines():
        key, value = line.split()
        if key in ("pgfault", "pgpgin"):
            found["vmstat." + key] = int(value)
    if "/manometer-" in (v2 or "") or "/byhand-" in (v2 or ""):
        found.update(pressure(v2))
    memory = v1 or v2
    if memory and os.path.exists(memory + "/memory.stat"):
        for line in rig.read(memory + "/memory.stat").splitlines():
            key, value = line.split()
            if key in ("pgfault", "pgmajfault", "workingset_refault_file"):
                found["memcg.probe." + key] = int(value)
    return found


def work(path):
    for _ in range(PASSES):
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 18):
                pass


def inner(path, out):
    # Pages count for the group that reads them first: none may be there yet.
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = readings()
    start = time.monotonic_ns()
    work(path)
    spent = time.monotonic_ns() - start
    after = readings()
    delta = {key: after[key] - before[key] for key in before}
    delta["probe.time_ns"] = spent
    with open(out, "a", encoding="utf-8") as file:
        file.write(json.dumps(delta) + "\n")


def by_hand(path, out):
    """Groups, limit, program and readings without Manometer; None where that isn't allowed."""
    v2, v1 = rig.own_groups()
    if os.geteuid() != 0 or not v2 or not v1:
        return None
    name = f"byhand-{os.getpid()}"
    groups = [f"{v2}/{name}", f"{v1}/{name}"]
    try:
        for group in groups:
            os.mkdir(group)
        with open(groups[1] + "/memory.limit_in_bytes", "w", encoding="ascii") as file:
            file.write(str(LIMIT))

        def join():
            for group in groups:
                with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
                    file.write("0")
        before = pressure(groups[0])
        start = time.monotonic_ns()
        subprocess.run([sys.executable, __file__, "inner", path, out], check=True, preexec_fn=join)
        spent = time.monotonic_ns() - start
        after = pressure(groups[0])
    finally:
        for group in groups:
            if os.path.isdir(group):
                os.rmdir(group)
    found = {key: after[key] - before[key] for key in before}
    found["probe.time_ns"] = spent
    return found


def check(metric, ours, theirs):
    """Manometer's reading lies around the program's own."""
    if metric.startswith("vmstat."):
        assert ours >= theirs, (metric, ours, theirs)  # others run here as well
        return
    if metric == "probe.time_ns" or metric.startswith("memcg."):
        assert ours >= theirs, (metric, ours, theirs)
        return
    # A stall that goes on when the other reads is told to one of the two.
    least = theirs - SLACK_US - SLACK_SHARE * theirs
    most = theirs + SLACK_US + SLACK_SHARE * theirs
    assert least <= ours <= most, (metric, ours, theirs)


def main(program, nobody):
    manometer = rig.Program(program, nobody)
    folder = manometer.folder.name
    path, out, hand_out = folder + "/file", folder + "/inner.jsonl", folder + "/hand.jsonl"
    with open(path, "wb") as file:
        for _ in range(FILE // MIB):
            file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
    limited = manometer.can_limit()
    # An interpreter below somebody's home isn't everybody's.
    python = "/usr/bin/python3" if nobody else sys.executable
    options = ["--set", "guest.memory=128MiB"] if limited else []
    if nobody:
        os.chmod(folder, 0o777)
    manometer.run("run", "command", "--substrate", "live", "--trials", "2", "--iterations", "1",
                  *options, "--quiet", "--", python, os.path.abspath(__file__), "inner",
                  path, out, codes=(0, 3))
    values = manometer.values()
    told = [json.loads(line) for line in rig.read(out).splitlines()]
    assert len(told) == 2, told
    trials = sorted({trial for trial, _, _ in values}, key=int)
    assert len(trials) == 2, trials
    hand = by_hand(path, hand_out)
    print(f"{'metric':40} {'manometer':>14} {'in the program':>14} {'by hand alone':>14}")
    compared = 0
    for trial, theirs in zip(trials, told):
        ours = {metric: value for (t, _, metric), value in values.items() if t == trial}
        for metric, number in sorted(theirs.items()):
            if ours.get(metric) is None:
                continue
            print(f"{metric:40} {ours[metric]:14.0f} {number:14.0f} "
                  f"{(hand or {}).get(metric, float('nan')):14.0f}")
            check(metric, ours[metric], number)
            compared += 1
    assert compared >= 4, compared
    stalled = [v for (_, _, m), v in values.items() if m == "psi.probe.memory.some.total_us"]
    assert stalled, "known or null, but never left out"
    if all(value is not None for value in stalled):
        assert not limited or max(stalled) > 0, "a file larger than the group must stall somebody"
    else:
        losses = {loss["source"]: loss["meaning"] for loss in manometer.compare()["losses"]}
        assert "psi.probe" in losses, losses
        print("psi.probe is null:", losses["psi.probe"])
    assert not rig.our_groups(), rig.our_groups()


if __name__ == "__main__":
    if sys.argv[1] == "inner":
        inner(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1], "nobody" in sys.argv[2:])
