#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A peer of the agent's readings: a Python script as people write them beside their experiments.

python_reader.py ROUNDS [user]: reads everything into dictionaries that often (with `user` as
nobody), and prints what one round cost in a running interpreter. Part of bench/agent.
"""
import glob
import os
import resource
import sys
import time

TABLES = ("/proc/vmstat", "/proc/meminfo", "/proc/stat")
TEXTS = ("/proc/buddyinfo", "/proc/pagetypeinfo", "/proc/zoneinfo")
PRESSURES = ("/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory")
MTHP = "/sys/kernel/mm/transparent_hugepage/hugepages-*/stats/*"


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def table(text):
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}


def pressure(text):
    rows = {}
    for line in text.splitlines():
        name, *fields = line.split()
        rows[name] = dict(field.split("=") for field in fields)
    return rows


def read_all():
    try:
        with open("/proc/sys/vm/stat_refresh", "w") as file:
            file.write("1")
    except OSError:
        pass
    everything = {path: table(read(path)) for path in TABLES}
    everything.update({path: read(path).splitlines() for path in TEXTS})
    everything.update({path: int(read(path)) for path in glob.glob(MTHP)})
    everything.update({path: pressure(read(path)) for path in PRESSURES})
    return everything


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    if len(sys.argv) > 2 and os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    read_all()
    before = resource.getrusage(resource.RUSAGE_SELF)
    taken = []
    for _ in range(rounds):
        start = time.monotonic_ns()
        read_all()
        taken.append(time.monotonic_ns() - start)
    after = resource.getrusage(resource.RUSAGE_SELF)
    taken.sort()
    print(f"BENCH ns={taken[len(taken) // 2]} least_ns={taken[0]} "
          f"faults={after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt} "
          f"rss={after.ru_maxrss * 1024}")


if __name__ == "__main__":
    main()
