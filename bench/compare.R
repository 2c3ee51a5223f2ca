# SPDX-License-Identifier: GPL-2.0-or-later
# R's side of bench/compare. Arguments: SMOOTH.tsv TIED.tsv
paths <- commandArgs(trailingOnly = TRUE)
load_rows <- function(path) as.matrix(read.table(path, sep = "\t"))
say <- function(what, seconds) cat(sprintf("  %-52s %8.1f ms\n", what, 1000 * seconds))
rank_tests <- function(rows, exact) {
  base <- rows[seq(1, nrow(rows), 2), ]
  other <- rows[seq(2, nrow(rows), 2), ]
  begun <- proc.time()[["elapsed"]]
  for (i in seq_len(nrow(base))) {
    suppressWarnings(wilcox.test(other[i, ], base[i, ], exact = exact))
  }
  proc.time()[["elapsed"]] - begun
}
cat(sprintf("  %s\n", R.version.string))
smooth <- load_rows(paths[1])
say("rank tests, exact, no ties", rank_tests(smooth, TRUE))
say("rank tests, normal approximation, ties in every metric", rank_tests(load_rows(paths[2]), FALSE))
