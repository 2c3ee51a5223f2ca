#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A stall of known time and place, and what `manometer why` makes of it.

Usage: planted_case.py MANOMETER

The module planted_stall sleeps in the probe's reclaim and tells each sleep's length by the kernel's
own clock. In the attribution trial `why` has to name its function, say that the time was slept, and
agree with the sum within 2 %; all stalls together have to explain PSI's total. Exit: 0 so it is,
1 not, 2 the run failed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

FUNCTION = "planted_stall_sleep"
SLEPT = re.compile(r"planted_stall: pid \d+ at \d+ ns for (\d+) ns")


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=5000, check=False)
    if done.returncode != 0:
        print(f"FAILED ({done.returncode}): {' '.join(command)}")
        sys.exit(2)
    return done.stdout


def folded_ns(text):
    """Of stacks below the function: {how the time was spent: ns}. Folded stacks are in us."""
    spent = {}
    for line in text.splitlines():
        stack, micros = line.rsplit(" ", 1)
        frames = stack.split(";")
        if FUNCTION in frames:
            spent[frames[-1]] = spent.get(frames[-1], 0) + 1000 * int(micros)
    return spent


def main():
    program = sys.argv[1]
    experiment = os.path.join(os.path.dirname(os.path.abspath(__file__)), "planted_stall.toml")
    wrong = []
    with tempfile.TemporaryDirectory(prefix="mano-planted-") as folder:
        store = ["--store", folder + "/store.db"]
        output_of(program, "run", experiment, "--exact", "--attribute", "1", "--json", *store)
        # The timed trial is trial 0, the attribution trial behind it trial 1.
        console = json.loads(output_of(program, "show", "last", "--trial", "1", "--json",
                                       *store))["console"]
        why = json.loads(output_of(program, "why", "last", "--format", "json", *store))
        folded = folded_ns(output_of(program, "why", "last", "--format", "folded", *store))
    sleeps = [int(ns) for ns in SLEPT.findall(console)]
    truth = sum(sleeps)
    arm = why["arms"][0]
    named = [one for group in arm["groups"] for one in group["functions"]
             if one["function"] == FUNCTION]
    found = sum(one["ns"] for one in named)
    print(f"planted: {len(sleeps)} sleeps, {truth / 1e6:.3f} ms; why: {found / 1e6:.3f} ms in "
          f"{FUNCTION} ({100 * (found / truth - 1) if truth else 0:+.2f} %), by stacks {folded}; "
          f"stalls explain {arm['explained_pct']:.1f} % of PSI's {arm['psi_some_us'] / 1000:.1f} ms")
    if len(sleeps) < 3:
        wrong.append(f"only {len(sleeps)} stalls were planted: {console[-500:]!r}")
    elif not 0.98 * truth <= found <= 1.02 * truth:
        wrong.append("the time isn't within 2 % of what was planted")
    if found and sum(one["blocked_ns"] for one in named) < 0.95 * found:
        wrong.append("the time isn't said to be slept")
    if abs(sum(folded.values()) - found) > 0.02 * truth:
        wrong.append("the folded stacks say something else than the table")
    if arm["psi_some_us"] > 10_000 and not 95 <= arm["explained_pct"] <= 105:
        wrong.append("the stalls don't explain PSI's total")
    for text in wrong:
        print("FAILED:", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
