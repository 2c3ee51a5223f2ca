# SPDX-License-Identifier: GPL-2.0-or-later
# lkp-tests' side of bench/compare. Arguments: LKP_SRC SMOOTH.tsv
# Its changed-statistics function on two matrices, as its own ncompare calls it.
source, path = ARGV
ENV['LKP_SRC'] = source
$LOAD_PATH.unshift(File.join(source, 'lib'))
# Its library of git, which no comparison needs, wants a gem of a version that distributions don't have.
$LOADED_FEATURES << File.realpath(File.join(source, 'lib', 'lkp_git.rb'))
begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
require File.join(source, 'lib', 'stats.rb')
loaded = Process.clock_gettime(Process::CLOCK_MONOTONIC)
rows = File.readlines(path).map { |line| line.split("\t").map(&:to_f) }
base = {}
other = {}
rows.each_slice(2).with_index do |(a, b), i|
  base["vmstat.m#{i}"] = a
  other["vmstat.m#{i}"] = b
end
read = Process.clock_gettime(Process::CLOCK_MONOTONIC)
changed = _get_changed_stats(other, base, {})
done = Process.clock_gettime(Process::CLOCK_MONOTONIC)
printf("  %-52s %8.1f ms (start-up %.1f ms; %d changed)\n", 'comparison', 1000 * (done - read),
       1000 * (loaded - begun), changed.size)
