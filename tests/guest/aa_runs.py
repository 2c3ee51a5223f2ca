#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real A/A run sets: one kernel against itself in exact mode, no seed in common, many times over.

Usage: aa_runs.py MANOMETER EXPERIMENT RUNS [OPTION of `manometer run` ...]

Every run set takes seeds that no other has. Equal kernels may be told apart in 5 % of them, of the
primary metric and of any secondary one alike; more than chance allows at that rate (1 in 200) fails.
Exit: 0 within the rate, 1 not, 2 a run failed.
"""

import json
import math
import subprocess
import sys
import tempfile

ALPHA = 0.05
TRIALS = 6
KERNEL = "debian:7.3"


def most_allowed(runs):
    """Smallest count that a rate of ALPHA exceeds less often than once in 200."""
    at_most = 0.0
    for count in range(runs + 1):
        at_most += math.comb(runs, count) * ALPHA**count * (1 - ALPHA) ** (runs - count)
        if at_most >= 1 - 1 / 200:
            return count
    return runs


def run(program, experiment, store, first_seed, options):
    command = [program, "run", experiment, "-k", f"a={KERNEL}", "-k", f"b={KERNEL}", "--exact",
               "--trials", str(TRIALS), "--seeds", "disjoint", "--seed", str(first_seed),
               "--store", store, "--quiet", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode not in (0, 4):
        print(f"FAILED ({done.returncode}): {' '.join(command)}\n{done.stderr}")
        sys.exit(2)
    return json.loads(done.stdout)


def told_apart(result):
    """Of the primary, of any secondary, and what was told apart."""
    names = {True: [], False: []}
    for case in result["cases"]:
        for metric in case["metrics"]:
            change = metric["changes"]["b"]
            if metric["key"] and change["verdict"] in ("better", "worse"):
                names[metric["primary"]].append(
                    f"{metric['name']} {change['verdict']} (p {change['p_adjusted']:.4f})")
    return names[True], names[False]


def main():
    program, experiment, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    options = sys.argv[4:]
    primary = secondary = 0
    verdicts = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            result = run(program, experiment, f"{folder}/store.db", 1 + 2 * TRIALS * number, options)
            of_primary, of_secondary = told_apart(result)
            primary += bool(of_primary)
            secondary += bool(of_secondary)
            verdicts[result["verdict"]] = verdicts.get(result["verdict"], 0) + 1
            names = ", ".join(of_primary + of_secondary) or "nothing told apart"
            print(f"{experiment} {number + 1} of {runs}: {result['verdict']}; {names}", flush=True)
    allowed = most_allowed(runs)
    print(f"{experiment}: of {runs} A/A run sets, {primary} told the primary metric apart, "
          f"{secondary} any secondary; up to {allowed} are chance; verdicts {verdicts}")
    return 0 if max(primary, secondary) <= allowed else 1


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main())
