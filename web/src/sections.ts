// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of the page that are words and tables, in the order of a reader's questions: what came
// out, how large, what else, can I trust it, what was it run on, how do I run it.
import type { Case, Change, Compare, Metric, Page, Verdict } from "./data";
import { breakable, type Child, type Column, copyButton, el, lazy, section, table } from "./dom";
import { number, percent, probability, signed, withUnit } from "./format";

// A sign beside each word: colour alone says nothing to many readers, and to none on paper.
const SIGNS: Record<Verdict, string> = {
  better: "✓", worse: "✗", mixed: "◆", "no-change": "=", inconclusive: "?", "too-few": "?",
  "not-comparable": "≠",
};

export function verdictBadge(verdict: Verdict): HTMLElement {
  return el("span", { class: `verdict ${verdict}` },
    el("span", { "aria-hidden": "true" }, `${SIGNS[verdict]} `), verdict);
}

// The program's sentence opens with the verdict, which stands before it as a badge.
function withoutVerdict(text: string, verdict: Verdict): string {
  return text.startsWith(`${verdict}: `) ? text.slice(verdict.length + 2) : text;
}

function armsHeadline(compare: Compare): string {
  const others = compare.arms.slice(1).map((arm) => arm.name).join(", ");
  return others === "" ? compare.base : `${compare.base} → ${others}`;
}

export function verdictSection(compare: Compare, page: Page): HTMLElement {
  const items = compare.cases.flatMap((each, index) => (page.sentences[index] ?? []).map(
    ({ arm, text }) => {
      const verdict = each.verdicts[arm];
      const where = [each.name, compare.arms.length > 2 ? arm : ""].filter((word) => word !== "");
      return el("li", {}, where.length > 0 ? el("strong", {}, `${where.join(", ")}: `) : null,
        verdict ? el("span", {}, verdictBadge(verdict.verdict), " ") : null,
        verdict ? withoutVerdict(text, verdict.verdict) : text);
    }));
  const counts = compare.arms.map((arm) =>
    `${arm.name} ${arm.trials === null ? "an unknown number" : arm.trials}`
    + (arm.spoiled > 0 ? ` and ${arm.spoiled} spoiled` : "")).join(", ");
  return section("verdict", "Verdict",
    el("p", { class: "headline" }, verdictBadge(compare.verdict), ` ${compare.experiment}, `,
      armsHeadline(compare)),
    page.question === "" ? null : el("p", { class: "question" }, page.question),
    items.length > 0 ? el("ul", { class: "sentences" }, ...items)
      : el("p", {}, "One arm: nothing to compare."),
    el("p", {}, `Trials that count: ${counts}.`,
      compare.exact
        ? " Exact mode: times are virtual (instructions), comparable between these arms only." : ""));
}

function valueCell(metric: Metric, arm: string): HTMLTableCellElement {
  const values = metric.arms[arm];
  const median = values?.median ?? (values?.n ? values.mean : null) ?? null;
  let text = values && values.n !== 0 ? number(median) : "–";
  if (values?.half_range_pct !== null && values?.half_range_pct !== undefined) {
    const spread = values.half_range_pct;
    text += ` ±${spread < 9.95 ? spread.toFixed(1) : spread.toFixed(0)}%`;
  }
  if (metric.name === "trial.failed" && values?.n) text = `${values.total ?? 0} of ${values.n}`;
  return el("td", { class: "number", "data-metric": metric.name, "data-arm": arm,
    "data-median": median, "data-n": values?.n ?? null }, text);
}

function changeText(change: Change): string {
  if (change.from_zero) return "new";
  if (change.median_pct !== null) return percent(change.median_pct);
  if (change.shift === null) return percent(change.mean_pct);
  return signed(change.shift);
}

function verdictCell(metric: Metric, change: Change): Child {
  if (metric.not_observable !== null) {
    return el("span", { title: metric.not_observable }, "n/a here: ", metric.not_observable);
  }
  if (change.reason.code === "no-direction" && !metric.key) return "changed";
  const why = change.reason.text;
  return el("span", {}, verdictBadge(change.verdict),
    why !== null && metric.key ? el("span", { class: "why" }, ` ${why}`) : null);
}

function metricRow(compare: Compare, metric: Metric, arm: string | null) {
  const name = el("span", {}, breakable(withUnit(metric.name, metric.unit)),
    metric.primary ? el("span", { class: "primary" }, " primary") : null);
  const change = arm === null ? undefined : metric.changes[arm];
  const cells: Child[] = [name, valueCell(metric, compare.base)];
  if (arm !== null) {
    cells.push(valueCell(metric, arm));
    cells.push(change ? changeText(change) : "–");
    const interval = change?.shift_ci95;
    cells.push(interval ? `${signed(interval[0])} … ${signed(interval[1])}` : "–");
    cells.push(change ? probability(change.p_adjusted ?? change.p) : "–");
    cells.push(change ? verdictCell(metric, change) : "–");
  }
  return { cells, attributes: { "data-row": metric.name } };
}

function columnsOf(compare: Compare, arm: string | null): Column[] {
  const columns: Column[] = [{ title: "metric" }, { title: compare.base, numeric: true }];
  if (arm !== null) {
    columns.push({ title: arm, numeric: true }, { title: "change", numeric: true },
      { title: "shift, 95% interval", numeric: true }, { title: "p", numeric: true },
      { title: "verdict" });
  }
  return columns;
}

export function metricsTable(
  compare: Compare, each: Case, metrics: Metric[], arm: string | null, title: string,
): HTMLElement {
  const where = [each.name, arm === null ? "" : `${compare.base} → ${arm}`, title];
  return table(where.filter((word) => word !== "").join(": "), columnsOf(compare, arm),
    metrics.map((metric) => metricRow(compare, metric, arm)));
}

function comparedArms(compare: Compare): (string | null)[] {
  const others = compare.arms.slice(1).map((arm) => arm.name);
  return others.length > 0 ? others : [null];
}

export function tableSection(compare: Compare): HTMLElement {
  const parts = compare.cases.flatMap((each) => {
    const keys = each.metrics.filter((metric) => metric.key);
    return keys.length === 0 ? [] : comparedArms(compare).map((arm) =>
      metricsTable(compare, each, keys, arm, "judged metrics"));
  });
  if (parts.length === 0) {
    parts.push(el("p", {}, "No metric was declared as judged before the run: see what changed."));
  }
  return section("table", "Judged metrics", ...parts, el("p", { class: "legend" },
    "Median ± half the range over trials (boots); change of the median, + is more. ",
    "p: two-sided; the primary metric alone, other judged ones by Holm, all others ",
    "Benjamini-Hochberg adjusted."));
}

export function othersSection(compare: Compare, page: Page): HTMLElement {
  const parts: HTMLElement[] = [];
  compare.cases.forEach((each, index) => {
    const shown = new Set(page.shown[index] ?? []);
    const others = each.metrics.filter((metric) => !metric.key && shown.has(metric.name));
    if (others.length === 0) return;
    for (const arm of comparedArms(compare)) {
      parts.push(metricsTable(compare, each, others, arm, "others that changed"));
    }
  });
  if (parts.length === 0) parts.push(el("p", {}, "Nothing else changed."));
  const count = compare.cases.reduce((sum, each) => Math.max(sum, each.metrics.length), 0);
  parts.push(lazy(`All ${count} metrics`, () => everything(compare)));
  return section("others", "What else changed", ...parts);
}

// Every row of every case, with a filter by name.
function everything(compare: Compare): HTMLElement {
  const box = el("div");
  const input = el("input", { type: "search", id: "filter", autocomplete: "off" });
  const status = el("p", { role: "status" });
  const parts = compare.cases.flatMap((each) => comparedArms(compare).map((arm) =>
    metricsTable(compare, each, each.metrics, arm, "all metrics")));
  const rows = parts.flatMap((part) => [...part.querySelectorAll<HTMLElement>("tbody tr")]);
  const filter = () => {
    const wanted = input.value.trim().toLowerCase();
    let left = 0;
    for (const row of rows) {
      const hit = (row.dataset["row"] ?? "").toLowerCase().includes(wanted);
      row.hidden = !hit;
      if (hit) ++left;
    }
    status.textContent = wanted === "" ? "" : `${left} rows match`;
  };
  input.addEventListener("input", filter);
  box.append(el("p", {}, el("label", { for: "filter" }, "Only names with "), input), status,
    ...parts);
  return box;
}

function byArm(compare: Compare, values: Record<string, string | null>): Child[] {
  return compare.arms.map((arm) => values[arm.name] ?? "unknown");
}

export function equivalenceSection(compare: Compare): HTMLElement {
  const columns = [{ title: "state before the probe" },
    ...compare.arms.map((arm) => ({ title: arm.name })), { title: "same" }];
  const parts = compare.cases.filter((each) => each.equivalence.length > 0).map((each) => {
    const rows = [...each.equivalence].sort((a, b) => Number(a.same) - Number(b.same));
    return table(each.name === "" ? "Same work?" : `Same work? ${each.name}`, columns,
      rows.map((check) => ({
        cells: [check.check, ...byArm(compare, check.values),
          check.same ? "same" : el("strong", {}, check.gate ? "differs: not comparable" : "differs")],
        attributes: { class: check.same ? null : "differs" },
      })));
  });
  if (parts.length === 0) parts.push(el("p", {}, "No state before the probe is known."));
  return section("equivalence", "Same work?", ...parts);
}

export function confoundersSection(compare: Compare): HTMLElement {
  const id = "confounders";
  const title = "What else differs between the arms";
  if (compare.confounders.length === 0) {
    return section(id, title, el("p", {}, "Nothing that is known."));
  }
  return section(id, title, table("Confounders: part of what is compared, never a gate",
    [{ title: "what" }, ...compare.arms.map((arm) => ({ title: arm.name }))],
    compare.confounders.map((each) => ({ cells: [each.what, ...byArm(compare, each.values)] }))));
}

export function lossesSection(compare: Compare): HTMLElement {
  if (compare.losses.length === 0) {
    return section("losses", "Lost data", el("p", {}, "None."));
  }
  // The same loss in many trials is one line.
  const groups = new Map<string, { source: string; meaning: string; count: number;
    trials: Set<number>; arms: Set<string> }>();
  for (const loss of compare.losses) {
    const key = `${loss.source}\n${loss.meaning}`;
    const group = groups.get(key) ?? { source: loss.source, meaning: loss.meaning, count: 0,
      trials: new Set<number>(), arms: new Set<string>() };
    group.count += loss.count;
    group.trials.add(loss.trial);
    group.arms.add(loss.arm);
    groups.set(key, group);
  }
  return section("losses", "Lost data", table("Data known to be missing",
    [{ title: "source" }, { title: "count", numeric: true }, { title: "trials", numeric: true },
      { title: "arms" }, { title: "meaning" }],
    [...groups.values()].map((group) => ({ cells: [group.source, String(group.count),
      String(group.trials.size), [...group.arms].join(", "), group.meaning] }))));
}

export function failedSection(compare: Compare): HTMLElement {
  const parts = compare.failed.length === 0 ? [el("p", {}, "None.")]
    : [table("Failed trials: an outcome of the kernel, counted",
      [{ title: "trial" }, { title: "arm" }, { title: "case" }, { title: "how" },
        { title: "evidence" }],
      compare.failed.map((each) => ({ cells: [String(each.trial), each.arm, each.case, each.how,
        each.evidence === null ? "none" : el("pre", {}, each.evidence)] })))];
  return section("failed", "Failed trials", ...parts);
}

export function spoiledSection(compare: Compare): HTMLElement {
  const parts = compare.spoiled.length === 0 ? [el("p", {}, "None.")]
    : [table("Spoiled trials: they say nothing about the kernel, and aren't counted",
      [{ title: "trial" }, { title: "arm" }, { title: "case" }, { title: "reason" }],
      compare.spoiled.map((each) => ({ cells: [String(each.trial), each.arm, each.case,
        el("pre", {}, each.reason)] })))];
  return section("spoiled", "Spoiled trials", ...parts);
}

export function doubtsSection(compare: Compare): HTMLElement {
  const parts = compare.warnings.length === 0 ? [el("p", {}, "None.")]
    : [el("ul", {}, ...compare.warnings.map((warning) => el("li", {},
      el("strong", {}, `${warning.text}: `), warning.what_to_do)))];
  return section("doubts", "Doubts", ...parts);
}

export function environmentSection(compare: Compare, page: Page): HTMLElement {
  const arms = table("Arms", [{ title: "arm" }, { title: "kernel" }, { title: "SPEC" },
    { title: "compiler" }, { title: "command line" }, { title: "configuration (SHA-256)" }],
  compare.arms.map((arm) => ({ cells: [arm.placebo ? `${arm.name} (placebo)` : arm.name,
    arm.kernel.release ?? "unknown", arm.kernel.spec ?? "unknown", arm.kernel.compiler ?? "unknown",
    arm.cmdline, el("code", {}, arm.kernel.config_sha256?.slice(0, 12) ?? "unknown")] })));
  const machine = table("Machine and run", [{ title: "what" }, { title: "value" }], [
    ["run set", page.name === "" ? compare.runset : `${compare.runset} (${page.name})`],
    ["manometer", page.version],
    ["substrate", compare.substrate],
    ["exact", compare.exact ? "yes" : "no"],
    ["started", page.started],
    ["finished", page.finished ?? "not finished"],
    ["seeds", seedsText(compare.seeds)],
    ...Object.entries(page.identity),
  ].map(([what = "", value = ""]) => ({ cells: [what, value] })));
  return section("environment", "What it was run on", arms, machine,
    page.remarks.length > 0
      ? el("ul", {}, ...page.remarks.map((remark) => el("li", {}, remark))) : null);
}

function seedsText(seeds: number[]): string {
  const first = seeds[0];
  const last = seeds[seeds.length - 1];
  if (first === undefined || last === undefined) return "unknown";
  return seeds.length === last - first + 1 ? `${first} to ${last}` : seeds.join(", ");
}

export function reproduceSection(compare: Compare, page: Page): HTMLElement {
  const command = page.command_line;
  return section("reproduce", "How to reproduce",
    command === "" ? el("p", {}, "How this run set was made isn't known.")
      : el("div", {}, el("pre", { class: "command" }, command),
        copyButton(command, "the command")),
    el("p", {}, "The numbers: ", el("code", {}, `manometer compare ${compare.runset} --json`),
      ". A stand-alone C program of pressure and probe: ",
      el("code", {}, `manometer reproduce ${compare.runset}`), "."),
    el("details", {}, el("summary", {}, "As text, for a mail"), copyButton(page.text, "the text"),
      el("pre", { class: "mail" }, page.text)));
}
