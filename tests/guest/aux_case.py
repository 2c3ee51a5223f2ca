#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One case of aux-alloc with few seeds, on a kernel that is built here and one with the patch.

Usage: aux_case.py MANOMETER

Smaller than the experiment itself, but with its claim: at 95 % the base compacts directly while
areas are mapped, and the patched kernel never does; both get every area; what both found before the
probe is alike. Exit: 0 so it is, 1 not, 2 the run failed.
"""

import csv
import io
import json
import subprocess
import sys
import tempfile

OPTIONS = ["--exact", "--cases", "95%", "--trials", "4", "--iterations", "4",
           "--set", "guest.memory=1GiB", "--set", "guest.zram=512MiB", "--set", "run.gap=50ms"]


def output_of(command, good):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=5000, check=False)
    if done.returncode not in good:
        print(f"FAILED ({done.returncode}): {' '.join(command)}")
        sys.exit(2)
    return done.stdout


def per_trial(rows, metric):
    """{arm: {trial: sum over iterations}}; an unknown value fails."""
    sums = {"before": {}, "after": {}}
    for row in rows:
        if row["metric"] == metric:
            of_arm = sums[row["arm"]]
            of_arm[row["trial"]] = of_arm.get(row["trial"], 0) + float(row["value"])
    return sums


def main():
    program = sys.argv[1]
    wrong = []
    with tempfile.TemporaryDirectory(prefix="mano-aux-") as folder:
        store = ["--store", folder + "/store.db"]
        result = json.loads(output_of([program, "run", "aux-alloc", "--json", *OPTIONS, *store],
                                      (0, 4)))
        rows = list(csv.DictReader(io.StringIO(
            output_of([program, "compare", "last", "--format", "csv", *store], (0,)))))
    compacted = per_trial(rows, "vmstat.compact_stall")
    asked = per_trial(rows, "probe.asked")
    got = per_trial(rows, "probe.ops")
    print("compact_stall by trial:", compacted)
    for arm in ("before", "after"):
        if len(compacted[arm]) != 4:
            wrong.append(f"{len(compacted[arm])} trials of {arm} count, not 4")
        if asked[arm] != got[arm] or not asked[arm]:
            wrong.append(f"{arm}: areas asked for {asked[arm]}, obtained {got[arm]}")
    if any(compacted["after"].values()):
        wrong.append("the patched kernel compacted directly")
    if not all(compacted["before"].values()):
        wrong.append("the base didn't compact directly in every trial")
    case = result["cases"][0]
    psi = next(metric for metric in case["metrics"] if metric["primary"])
    change = psi["changes"]["after"]
    print(f"{psi['name']}: {change['verdict']}, p {change['p_adjusted']}")
    if change["verdict"] != "better":
        wrong.append(f"the verdict on {psi['name']} is {change['verdict']}")
    for text in wrong:
        print("FAILED:", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
