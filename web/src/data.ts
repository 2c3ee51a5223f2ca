// SPDX-License-Identifier: GPL-2.0-or-later
// The page's two pieces of data: the comparison exactly as `manometer compare --json` prints it, and
// what only the page needs. src/report writes both. Nothing here is computed: what the page shows
// as a number stands in one of them.

export type Verdict =
  | "better" | "worse" | "mixed" | "no-change" | "inconclusive" | "too-few" | "not-comparable";
export type Interval = [number, number] | null;

export interface Reason {
  code: string | null;
  text: string | null;
}

export interface ArmValues {
  n: number | null;
  values: (number | null)[];
  total: number | null;
  mean: number | null;
  median: number | null;
  zeros: number | null;
  stddev_pct: number | null;
  half_range_pct: number | null;
  ci95: Interval;
}

export interface Change {
  mean_pct: number | null;
  median_pct: number | null;
  shift: number | null;
  shift_ci95: Interval;
  test: string | null;
  p: number | null;
  p_adjusted: number | null;
  verdict: Verdict;
  reason: Reason;
  margin_pct: number | null;
  detectable_pct: number | null;
  median_pct_ci95: Interval;
  from_zero: boolean;
  placebo: { arm: string; shift: number | null; pct: number | null } | null;
  warnings: string[];
}

export interface Metric {
  name: string;
  unit: string | null;
  better: "lower" | "higher" | "neither" | null;
  key: boolean;
  primary: boolean;
  arms: Record<string, ArmValues>;
  not_observable: string | null;
  noise: { floor: number | null; floor_pct: number | null } | null;
  changes: Record<string, Change>;
}

export interface Case {
  name: string;
  parameters: Record<string, string | number>;
  verdicts: Record<string, { verdict: Verdict; reason: Reason | null }>;
  metrics: Metric[];
  equivalence: {
    check: string;
    values: Record<string, string | null>;
    same: boolean;
    gate: boolean;
  }[];
}

export interface Compare {
  schema: "manometer.compare/1";
  runset: string;
  experiment: string;
  substrate: string;
  accel: string | null;
  qemu: string | null;
  exact: boolean;
  seeds: number[];
  paired: boolean;
  base: string;
  arms: {
    name: string;
    kernel: {
      release: string | null;
      spec: string | null;
      config_sha256: string | null;
      compiler: string | null;
    };
    cmdline: string;
    trials: number | null;
    spoiled: number;
    placebo: boolean;
  }[];
  cases: Case[];
  warnings: { code: string; text: string; what_to_do: string }[];
  confounders: { what: string; values: Record<string, string | null> }[];
  losses: { arm: string; trial: number; source: string; count: number; meaning: string }[];
  failed: { arm: string; case: string; trial: number; how: string; evidence: string | null }[];
  spoiled: { arm: string; case: string; trial: number; reason: string }[];
  verdict: Verdict;
}

// One trial's course: a value an iteration. Counters are what an iteration added; gauges have a
// reading before and one after each iteration.
export interface Course {
  trial: number;
  seconds: (number | null)[] | null;
  counters: Record<string, (number | null)[]>;
  gauges: Record<string, [number | null, number | null][]>;
}

export interface Page {
  schema: "manometer.page/1";
  version: string;
  question: string;
  name: string;
  started: string;
  finished: string | null;
  command_line: string;
  remarks: string[];
  identity: Record<string, string>;
  // By case: one sentence an arm but the base.
  sentences: { arm: string; text: string }[][];
  // By case: names of the rows that the text table shows.
  shown: string[][];
  // By case and arm: the trials whose values are ArmValues.values, in the same order.
  cells: { trial: number; seed: number }[][][];
  trials: {
    trial: number;
    arm: string;
    case: string;
    seed: number;
    standing: string | null;
    seconds: number | null;
  }[];
  courses: Course[];
  courses_left_out: number;
  text: string;
}

function read(id: string): unknown {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no data block ${id}`);
  return JSON.parse(element.textContent ?? "");
}

export function readCompare(): Compare {
  const data = read("compare") as Compare;
  if (data.schema !== "manometer.compare/1") throw new Error(`schema ${data.schema} isn't known`);
  return data;
}

export function readPage(): Page {
  const data = read("page") as Page;
  if (data.schema !== "manometer.page/1") throw new Error(`schema ${data.schema} isn't known`);
  return data;
}
