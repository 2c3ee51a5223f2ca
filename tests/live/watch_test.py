#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""manometer watch beside what the kernel's files say at the same time.

  watch_test.py MANOMETER
"""
import json
import os
import subprocess
import sys

import rig


def vmstat(key):
    for line in rig.read("/proc/vmstat").splitlines():
        if line.split()[0] == key:
            return int(line.split()[1])
    return None


def check_lines(manometer):
    before = vmstat("pgmajfault")
    text = manometer.run("watch", "--json", "--count", "3", "--interval", "200ms").stdout
    after = vmstat("pgmajfault")
    looks = [json.loads(line) for line in text.splitlines()]
    assert len(looks) == 3, looks
    seen = sum(look["per_s"]["pgmajfault"] * look["seconds"] for look in looks)
    assert -0.5 <= seen <= after - before + 0.5, (seen, before, after)
    orders = len(rig.read("/proc/buddyinfo").splitlines()[0].split()) - 4
    for look in looks:
        assert look["schema"] == "manometer.watch/1", look
        assert len(look["free_blocks_by_order"]) == orders, look
        assert look["available_bytes"] > 0 and look["group_bytes"] is None, look
        known = os.path.exists("/proc/pressure/memory")
        some = look["psi"]["memory"]["some_pct"]
        assert (some is not None and 0 <= some <= 100) if known else some is None, look


def check_pipe(manometer):
    text = manometer.run("watch", "--count", "2", "--interval", "100ms").stdout
    lines = text.splitlines()
    assert len(lines) == 3 and lines[0].startswith("time"), text
    assert "\x1b" not in text, text
    # A reader that goes away ends it.
    run = subprocess.Popen(manometer.words("watch", "--interval", "100ms"), env=manometer.env,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.readline()
    run.stdout.close()
    assert run.wait(timeout=60) == 0
    run.stderr.close()


def check_groups(manometer):
    for odd in ("/no such group", "/../etc", "manometer-1-1/probe", "a" * 5000, "/\x1b[31m"):
        done = manometer.run("watch", odd, "--count", "1", codes=(1,))
        assert "cgroup" in done.stderr and "\x1b" not in done.stderr, done.stderr
    v2, memory = rig.mounts()
    if v2 is None or os.geteuid() != 0:
        return
    name = f"watched é {os.getpid()}"  # a blank and a letter that isn't ASCII
    os.mkdir(f"{v2}/{name}")
    try:
        text = manometer.run("watch", "/" + name, "--json", "--count", "1", "--interval",
                             "100ms").stdout
    finally:
        os.rmdir(f"{v2}/{name}")
    look = json.loads(text)
    assert look["target"] == "/" + name, look
    assert look["psi"]["memory"]["some_pct"] == 0, look
    assert memory is None or look["per_s"]["pgscan_direct"] is None, look


def check_words(manometer):
    for words in (["--interval", "0"], ["--interval", "1ms"], ["--count", "0"], ["--count", "x"]):
        assert manometer.run("watch", *words, codes=(1,)).stderr


if __name__ == "__main__":
    program = rig.Program(sys.argv[1])
    check_lines(program)
    check_pipe(program)
    check_groups(program)
    check_words(program)
    print("watch agrees with the kernel's files")
