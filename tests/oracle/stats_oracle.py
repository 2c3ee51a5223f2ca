#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares mano::stats with scipy or R to 1e-9 (relative) on seeded datasets.

Usage: stats_oracle.py scipy|r PROGRAM      (PROGRAM: stats_numbers)
Exit: 0 equal, 1 different, 77 the oracle isn't installed.
"""

import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys

SEED = 20261130
DATASETS = 400
SKIPPED = 77
TOLERANCE = 1e-9


BENCHSTAT = [
    ([1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774],
     [1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425]),
    ([3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062],
     [3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062]),
]


def draw(rng, n, shape):
    if shape == "normal":
        return [rng.gauss(100, 15) for _ in range(n)]
    if shape == "counts":
        return [float(rng.randrange(6)) for _ in range(n)]
    if shape == "zeros":
        return [0.0 if rng.random() < 0.6 else float(rng.randrange(1, 5000)) for _ in range(n)]
    if shape == "huge":
        return [1e12 + rng.randrange(10**9) for _ in range(n)]
    return [7.0] * n  # constant


def datasets():
    """Pairs of samples of 1 to 20 values: untied, tied, zero-inflated, huge, constant."""
    rng = random.Random(SEED)
    shapes = ["normal"] * 5 + ["counts"] * 3 + ["zeros"] * 3 + ["huge", "constant"]
    for _ in range(DATASETS):
        shape = rng.choice(shapes)
        a, b = (draw(rng, rng.randrange(1, 21), shape) for _ in range(2))
        if rng.random() < 0.5:
            b = [value * 1.0 + rng.choice([0, 1, 20]) for value in b]
        yield a, b
    # Published: R's own example of wilcox.test (Hollander and Wolfe 1973, p. 69f, permeability of
    # the human chorioamnion), and Student's sleep data (with ties).
    yield ([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
           [1.15, 0.88, 0.90, 0.74, 1.21])
    yield ([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
           [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    # Published: benchstat's own example (golang.org/x/perf, cmd/benchstat/testdata), ns/op; it prints
    # medians 1.718us -> 1.423us, -17.20%, p=0.000 and 3.066us -> 3.070us, p=0.446, both n=10.
    yield from BENCHSTAT
    # Beyond the exact tests.
    for n, m in ((70, 80), (100, 50)):
        yield draw(rng, n, "normal"), draw(rng, m, "normal")


def tables():
    rng = random.Random(SEED + 1)
    for _ in range(200):
        n1, n2 = rng.randrange(1, 40), rng.randrange(1, 40)
        yield rng.randrange(n1 + 1), n1, rng.randrange(n2 + 1), n2
    yield 3, 4, 1, 4  # Fisher's tea


def families():
    rng = random.Random(SEED + 2)
    for _ in range(100):
        yield [rng.choice([rng.random(), rng.random() ** 4, 1.0, 0.05])
               for _ in range(rng.randrange(1, 30))]


def paired():
    """Pairs that share something: untied, tied, with differences of 0."""
    rng = random.Random(SEED + 3)
    for number in range(200):
        n = rng.randrange(3, 13)
        if number % 2:
            a = [float(rng.randrange(8)) for _ in range(n)]
            b = [x + rng.randrange(-2, 4) for x in a]
        else:
            a = [rng.gauss(100, 15) for _ in range(n)]
            b = [x + rng.gauss(3, 6) for x in a]
        if a != b:
            yield a, b
    # Published: Hollander and Wolfe's depression scale (R's example of the paired wilcox.test).
    yield ([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
           [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])


def zero_counts():
    rng = random.Random(SEED + 4)
    for _ in range(60):
        yield tuple(draw(rng, rng.randrange(3, 8), "zeros") for _ in range(2))


def ours(program, lines):
    run = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True,
                         check=True, timeout=120)
    return [json.loads(line) for line in run.stdout.splitlines()]


def line_of(what, *samples):
    return " ".join([what] + [f"{len(s)} " + " ".join(repr(float(v)) for v in s) for s in samples])


class Check:
    def __init__(self):
        self.compared = 0
        self.wrong = []

    def equal(self, what, got, expected, slack=1e-300):
        """`slack`, absolute: for differences of data, which carry the rounding of the data."""
        self.compared += 1
        if got is None or expected is None:
            same = got is None and expected is None
        else:
            same = math.isclose(got, expected, rel_tol=TOLERANCE, abs_tol=slack)
        if not same:
            self.wrong.append(f"{what}: ours {got!r}, oracle {expected!r}")

    def done(self, oracle):
        for text in self.wrong[:20]:
            print(text)
        print(f"{oracle}: {self.compared} numbers compared, {len(self.wrong)} differ")
        return 1 if self.wrong or self.compared < 1000 else 0


def tied(a, b):
    return len(set(a) | set(b)) < len(a) + len(b)


def permutation_p(a, b):
    """By the definition; for samples small enough to list every arrangement."""
    pooled = a + b
    ranks = [sum((x < v) + 0.5 * (x == v) for x in pooled) for v in pooled]
    expected = len(a) * sum(ranks) / len(ranks)
    observed = abs(sum(ranks[: len(a)]) - expected)
    far = total = 0
    for choice in itertools.combinations(ranks, len(a)):
        total += 1
        far += abs(sum(choice) - expected) >= observed - 1e-9
    return far / total


def signs_p(differences, ranked):
    """By the definition: every pattern of signs."""
    sizes = [abs(d) for d in differences if d]
    weights = ([sum((x < v) + 0.5 * (x == v) for x in sizes) + 0.5 for v in sizes]
               if ranked else sizes)
    seen = abs(sum(math.copysign(w, d) for w, d in zip(weights, (d for d in differences if d))))
    sums = [abs(sum(pattern)) for pattern in itertools.product(*((w, -w) for w in weights))]
    return sum(s >= seen * (1 - 1e-10) for s in sums) / len(sums)


def check_pairs(check, program, stats):
    rows = list(paired())
    for number, ((a, b), got) in enumerate(zip(rows, ours(program, [line_of("pairs", a, b)
                                                                    for a, b in rows]))):
        where = f"pairs {number} ({len(a)}, {got['test']})"
        d = [y - x for x, y in zip(a, b)]
        if got["test"] == "exact signed rank" and 0 not in d:
            check.equal(f"{where} p", got["p"],
                        float(stats.wilcoxon(d, zero_method="wilcox", mode="exact").pvalue))
        check.equal(f"{where} p by listing", got["p"], signs_p(d, True))
        check.equal(f"{where} sign-flip p", got["flip_p"], signs_p(d, False))
        if len(set(a)) > 1 and len(set(b)) > 1:
            check.equal(f"{where} rho", got["rho"], float(stats.spearmanr(a, b).correlation), 1e-12)


def check_counts(check, program, stats, numpy):
    rows = list(zero_counts())
    for number, ((a, b), got) in enumerate(zip(rows, ours(program, [line_of("counts", a, b)
                                                                    for a, b in rows]))):
        where = f"counts {number} ({len(a)} v {len(b)})"
        expected = len(a) * numpy.mean(a + b)
        result = stats.permutation_test((a, b), lambda x, y: abs(sum(x) - expected),
                                        alternative="greater", n_resamples=math.inf)
        check.equal(f"{where} totals", got["totals"], float(result.pvalue))
        table = [[a.count(0), len(a) - a.count(0)], [b.count(0), len(b) - b.count(0)]]
        check.equal(f"{where} zeros", got["zeros"], float(stats.fisher_exact(table)[1]))


def check_bca(check, program, stats, numpy):
    """scipy's resampled distribution through our BCa: the interval must be scipy's."""
    def change(base, other, axis=-1):
        return 100 * (numpy.mean(other, axis=axis) / numpy.mean(base, axis=axis) - 1)
    rng = random.Random(SEED + 5)
    cases, lines = [], []
    for number in range(40):
        a, b = ([rng.lognormvariate(4, 0.4) for _ in range(rng.randrange(6, 25))] for _ in range(2))
        result = stats.bootstrap((a, b), change, n_resamples=999, method="BCa", random_state=number)
        left_out = [[float(change(a[:i] + a[i + 1:], b)) for i in range(len(a))],
                    [float(change(a, b[:i] + b[i + 1:])) for i in range(len(b))]]
        cases.append(result.confidence_interval)
        lines.append(line_of("bca", list(result.bootstrap_distribution), [float(change(a, b))],
                             *left_out))
    for number, (want, got) in enumerate(zip(cases, ours(program, lines))):
        for end, (value, expected) in enumerate(zip(got["ci95"], want)):
            check.equal(f"bca {number} end {end}", value, float(expected))


def with_scipy(program):
    try:
        import numpy
        from scipy import stats
    except ImportError as error:
        # Another interpreter may come first on PATH; the distribution's has the distribution's scipy.
        system = "/usr/bin/python3"
        if os.path.realpath(sys.executable) != os.path.realpath(system) and os.path.exists(system):
            os.execv(system, [system] + sys.argv)
        print(f"SKIPPED: python3-scipy isn't installed ({error}); apt-get install python3-scipy")
        return SKIPPED
    check = Check()
    pairs = list(datasets())
    results = ours(program, [line_of("two", a, b) for a, b in pairs])
    for number, ((a, b), got) in enumerate(zip(pairs, results)):
        where = f"dataset {number} ({len(a)} v {len(b)}, {got['test']})"
        for name, sample in (("a", a), ("b", b)):
            check.equal(f"{where} mean", got[name]["mean"], float(numpy.mean(sample)))
            check.equal(f"{where} median", got[name]["median"], float(numpy.median(sample)))
            check.equal(f"{where} psd", got[name]["psd"], float(numpy.std(sample)))
            if len(sample) > 1:
                check.equal(f"{where} sd", got[name]["sd"], float(numpy.std(sample, ddof=1)))
            if got[name]["ci95"]:
                rank = sorted(sample).index(got[name]["ci95"][0])
                if not tied(sample, []):
                    check.equal(f"{where} coverage", got[name]["coverage"],
                                1 - 2 * stats.binom.cdf(rank, len(sample), 0.5))
        check.equal(f"{where} shift", got["shift"],
                    float(numpy.median([y - x for x in a for y in b])), 1e-12)
        if got["test"].startswith("exact Mann"):
            expected = stats.mannwhitneyu(a, b, alternative="two-sided", method="exact").pvalue
        elif got["test"].endswith("approximation"):
            expected = stats.mannwhitneyu(a, b, alternative="two-sided",
                                          method="asymptotic").pvalue
        elif math.comb(len(a) + len(b), len(a)) <= 20000:
            expected = permutation_p(a, b)
        else:
            continue
        check.equal(f"{where} p", got["p"], float(expected))
    rows = list(tables())
    for row, got in zip(rows, ours(program, [f"fisher {k1} {n1} {k2} {n2}" for k1, n1, k2, n2 in rows])):
        k1, n1, k2, n2 = row
        check.equal(f"fisher {row}", got["p"], float(stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]])[1]))
    check_pairs(check, program, stats)
    check_counts(check, program, stats, numpy)
    check_bca(check, program, stats, numpy)
    return check.done("scipy")


R_SCRIPT = r"""
# One result a line, in the order of the input: numbers separated by blanks, NA for none.
show <- function(x) cat(paste(ifelse(is.na(x), "NA", sprintf("%.17g", x)), collapse = " "), "\n")
for (line in readLines(file("stdin"))) {
  f <- strsplit(line, " +")[[1]]
  v <- as.numeric(f[-1])
  if (f[1] == "two") {
    a <- v[2:(1 + v[1])]
    b <- v[(3 + v[1]):length(v)]
    if (anyDuplicated(c(a, b)) || length(a) * length(b) > 4096) {
      p <- suppressWarnings(wilcox.test(b, a, exact = FALSE, correct = TRUE)$p.value)
      show(c(mean(a), median(a), sd(a), p, NA, NA, NA))
    } else {
      w <- suppressWarnings(wilcox.test(b, a, exact = TRUE, conf.int = TRUE))
      show(c(mean(a), median(a), sd(a), w$p.value, w$estimate, w$conf.int))
    }
  } else if (f[1] == "pairs") {
    a <- v[2:(1 + v[1])]
    b <- v[(3 + v[1]):length(v)]
    d <- b - a
    rho <- suppressWarnings(cor(a, b, method = "spearman"))
    if (any(d == 0) || anyDuplicated(abs(d))) {
      show(c(NA, NA, NA, NA, rho))
    } else {
      w <- suppressWarnings(wilcox.test(b, a, paired = TRUE, exact = TRUE, conf.int = TRUE))
      show(c(w$p.value, w$estimate, w$conf.int, rho))
    }
  } else if (f[1] == "fisher") {
    show(fisher.test(matrix(c(v[1], v[2] - v[1], v[3], v[4] - v[3]), 2))$p.value)
  } else {
    p <- v[-1]
    show(c(p.adjust(p, "holm"), p.adjust(p, "BH")))
  }
}
"""


def with_r(program):
    if not shutil.which("Rscript"):
        print("SKIPPED: Rscript isn't installed; apt-get install r-base-core")
        return SKIPPED
    check = Check()
    pairs, rows, groups = list(datasets()), list(tables()), list(families())
    together = list(paired())
    lines = ([line_of("two", a, b) for a, b in pairs]
             + [f"fisher {k1} {n1} {k2} {n2}" for k1, n1, k2, n2 in rows]
             + [line_of("adjust", p) for p in groups]
             + [line_of("pairs", a, b) for a, b in together])
    run = subprocess.run(["Rscript", "--vanilla", "-e", R_SCRIPT], input="\n".join(lines) + "\n",
                         capture_output=True, text=True, timeout=240)
    if run.returncode != 0:
        print(run.stderr)
        return 1
    oracle = [[None if x in ("NA", "NaN") else float(x) for x in line.split()]
              for line in run.stdout.splitlines()]
    results = ours(program, lines)
    assert len(oracle) == len(results) == len(lines)
    for number, ((a, b), got, want) in enumerate(zip(pairs, results, oracle)):
        where = f"dataset {number} ({len(a)} v {len(b)}, {got['test']})"
        check.equal(f"{where} mean", got["a"]["mean"], want[0])
        check.equal(f"{where} median", got["a"]["median"], want[1])
        check.equal(f"{where} sd", got["a"]["sd"], want[2])
        if got["test"].startswith("exact Mann") or got["test"].endswith("approximation"):
            check.equal(f"{where} p", got["p"], want[3])
        if got["test"].startswith("exact Mann"):
            check.equal(f"{where} shift", got["shift"], want[4], 1e-12)
            # Where the sizes can't reach 95 %, R gives the widest interval and a warning, we none.
            if got["ci95"]:
                check.equal(f"{where} low", got["ci95"][0], want[5])
                check.equal(f"{where} high", got["ci95"][1], want[6])
    rest = zip(rows + groups + together, results[len(pairs):], oracle[len(pairs):])
    for row, got, want in rest:
        if "rho" in got:
            where = f"pairs {row}"
            check.equal(f"{where} rho", got["rho"], want[4], 1e-12)
            if want[0] is None:
                continue
            check.equal(f"{where} p", got["p"], want[0])
            check.equal(f"{where} shift", got["shift"], want[1], 1e-12)
            # Below 6 pairs R gives the widest interval and a warning, we none.
            if got["ci95"]:
                check.equal(f"{where} low", got["ci95"][0], want[2], 1e-12)
                check.equal(f"{where} high", got["ci95"][1], want[3], 1e-12)
        elif "p" in got:
            check.equal(f"fisher {row}", got["p"], want[0])
        else:
            for value, expected in zip(got["holm"] + got["bh"], want):
                check.equal(f"adjust {row}", value, expected)
    return check.done("R")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("scipy", "r"):
        sys.exit(__doc__)
    sys.exit((with_scipy if sys.argv[1] == "scipy" else with_r)(sys.argv[2]))
