#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""scipy's side of bench/compare. Usage: compare_scipy.py SMOOTH.tsv TIED.tsv

MANO_BENCH_BOOTSTRAPS metrics get a bootstrap interval (100), and the time for all is scaled up: all
3,000 take most of a minute."""

import os
import sys
import time

import numpy
import scipy
from scipy import stats


def load(path):
    rows = numpy.loadtxt(path)
    return rows[0::2], rows[1::2]


def say(what, seconds, note=""):
    print(f"  {what:<52} {1000 * seconds:8.1f} ms{note}", flush=True)


def rank_tests(base, other, method):
    begun = time.perf_counter()
    for a, b in zip(base, other):
        stats.mannwhitneyu(a, b, alternative="two-sided", method=method)
    return time.perf_counter() - begun


def change(base, other, axis=-1):
    return 100 * (numpy.median(other, axis=axis) / numpy.median(base, axis=axis) - 1)


def main():
    base, other = load(sys.argv[1])
    print(f"  scipy {scipy.__version__}, numpy {numpy.__version__}")
    rank_tests(base[:10], other[:10], "exact")
    say("rank tests, exact, no ties", rank_tests(base, other, "exact"))
    tied = load(sys.argv[2])
    say("rank tests, normal approximation, ties in every metric", rank_tests(*tied, "asymptotic"))
    count = int(os.environ.get("MANO_BENCH_BOOTSTRAPS", "100"))
    begun = time.perf_counter()
    for a, b in zip(base[:count], other[:count]):
        stats.bootstrap((a, b), change, n_resamples=9999, method="BCa", random_state=1)
    seconds = (time.perf_counter() - begun) * len(base) / count
    say("BCa of the median change, 9,999 resamples", seconds, f" (from {count} of them)")


if __name__ == "__main__":
    main()
