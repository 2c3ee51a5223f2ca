// SPDX-License-Identifier: GPL-2.0-or-later
// Figures: distributions of trials by arm, and the course of one trial. Each has a caption that says
// in words what it shows, for those who can't see it.
import * as Plot from "@observablehq/plot";
import type { ArmValues, Compare, Course, Metric, Page } from "./data";
import { el } from "./dom";
import { number, percent, withUnit } from "./format";

const WIDTH = 760;
const LOG_FROM = 100; // greatest / least, as in the terminal's plots
const LONG_NAME = 28; // characters of an arm's name beside its strip; the caption has all of it
const MANY_POINTS = 150; // of one arm: beyond, points are smaller and lie in rows, not in a swarm

// The arms' colours; with more arms they repeat, since the rows have names of their own.
const COLOURS = ["var(--arm0)", "var(--arm1)", "var(--arm2)", "var(--arm3)", "var(--arm4)"];
export function colour(arm: number): string {
  return COLOURS[arm % COLOURS.length] ?? "currentColor";
}

interface Point {
  arm: string;
  value: number;
  title: string;
  row: number;
}

// "7.1: 6 trials, median 9.4, 95% interval 6.1 to 12.2".
function inWords(arm: string, values: ArmValues): string {
  const known = values.values.filter((value) => value !== null).length;
  const unknown = values.values.length - known;
  let text = `${arm}: ${known} ${known === 1 ? "trial" : "trials"}, median ${number(values.median)}`;
  if (values.ci95 !== null) {
    text += `, 95% interval ${number(values.ci95[0])} to ${number(values.ci95[1])}`;
  }
  return unknown > 0 ? `${text}, ${unknown} unknown` : text;
}

function svgOf(figure: HTMLElement | SVGElement, label: string): HTMLElement | SVGElement {
  const svg = figure instanceof SVGElement ? figure : figure.querySelector("svg");
  svg?.setAttribute("role", "img");
  svg?.setAttribute("aria-label", label);
  return figure;
}

function points(compare: Compare, page: Page, caseIndex: number, metric: Metric): Point[] {
  const all: Point[] = [];
  compare.arms.forEach((arm, armIndex) => {
    const cell = page.cells[caseIndex]?.[armIndex] ?? [];
    const values = metric.arms[arm.name]?.values ?? [];
    values.forEach((value, row) => {
      if (value === null) return;
      const trial = cell.length === values.length ? cell[row] : undefined;
      const who = trial ? `trial ${trial.trial}, seed ${trial.seed}` : `trial ${row + 1}`;
      all.push({ arm: arm.name, value, row, title: `${arm.name}, ${who}: ${number(value)}` });
    });
  });
  return all;
}

// How far the base lies from itself: placebo arms, else an earlier run of equal kernels.
function floorOf(metric: Metric): { low: number; high: number; what: string } | null {
  for (const change of Object.values(metric.changes)) {
    const base = Object.values(metric.arms)[0]?.median;
    if (base === null || base === undefined) return null;
    if (change.placebo?.shift !== null && change.placebo?.shift !== undefined) {
      const size = Math.abs(change.placebo.shift);
      return { low: base - size, high: base + size, what: "spread of the placebo" };
    }
    if (metric.noise?.floor !== null && metric.noise?.floor !== undefined) {
      const size = metric.noise.floor;
      return { low: base - size, high: base + size, what: "differences between equal kernels" };
    }
  }
  return null;
}

export function distribution(
  compare: Compare, page: Page, caseIndex: number, metric: Metric,
): HTMLElement {
  const all = points(compare, page, caseIndex, metric);
  const arms = compare.arms.map((arm) => arm.name);
  const label = withUnit(metric.name, metric.unit);
  const words = arms.map((arm) => metric.arms[arm])
    .map((values, index) => (values ? inWords(arms[index] ?? "", values) : ""))
    .filter((text) => text !== "").join("; ");
  const figure = el("figure", { class: "distribution", "data-metric": metric.name,
    "data-case": compare.cases[caseIndex]?.name ?? "" });
  const caption = el("figcaption", {}, el("strong", {}, label), ` ${words}.`);
  if (all.length === 0) {
    figure.append(caption, el("p", {}, "No known value."));
    return figure;
  }
  const values = all.map((point) => point.value);
  const least = Math.min(...values);
  const greatest = Math.max(...values);
  const logarithmic = least > 0 && greatest / least > LOG_FROM;
  const most = Math.max(...arms.map((arm) => all.filter((point) => point.arm === arm).length));
  const many = most > MANY_POINTS;
  const size = many ? 96 : Math.min(120, Math.max(56, 44 + 4 * most));
  const intervals = arms.flatMap((arm) => {
    const interval = metric.arms[arm]?.ci95;
    return interval ? [{ arm, low: interval[0], high: interval[1] }] : [];
  });
  const medians = arms.flatMap((arm) => {
    const median = metric.arms[arm]?.median;
    return median === null || median === undefined || (logarithmic && median <= 0)
      ? [] : [{ arm, median }];
  });
  const floor = floorOf(metric);
  const band = floor === null || logarithmic ? [] : [floor];
  // A swarm of many points would leave its strip: rows by number keep each one visible.
  const dots = many
    ? Plot.dot(all, { x: "value", fy: "arm", y: (point: Point) => (point.row * 7) % 20, r: 1.6,
        fill: (point: Point) => colour(arms.indexOf(point.arm)), fillOpacity: 0.7, title: "title" })
    : Plot.dot(all, Plot.dodgeY({ x: "value", fy: "arm", anchor: "middle", r: 3.5, padding: 0.5,
        fill: (point: Point) => colour(arms.indexOf(point.arm)), title: "title" }));
  const names = arms.map((arm) => (arm.length > LONG_NAME ? `${arm.slice(0, LONG_NAME - 1)}…` : arm));
  const margin = 24 + 7.5 * Math.max(...names.map((name) => name.length));
  const plot = Plot.plot({
    width: WIDTH,
    height: arms.length * size + 50,
    marginLeft: margin,
    marginRight: 24,
    marginTop: 6,
    marginBottom: 40,
    x: { type: logarithmic ? "log" : "linear", grid: true, label: `${label} →`,
      // All equal: room on both sides of the one value.
      domain: least === greatest ? [least - Math.abs(least) / 10 - 1, least + Math.abs(least) / 10 + 1]
        : undefined,
      inset: 8, tickFormat: axisFormat(values) },
    y: { axis: null, domain: many ? [-6, 26] : undefined },
    fy: { domain: arms, label: null, axis: null, padding: 0.05 },
    marks: [
      Plot.rectX(band, { x1: "low", x2: "high", fill: "var(--band)" }),
      Plot.axisFy({ domain: arms, anchor: "left", label: null, fontSize: 12,
        tickFormat: (arm: string) => names[arms.indexOf(arm)] ?? arm } as Plot.AxisYOptions),
      dots,
      Plot.ruleX(medians, { x: "median", fy: "arm", strokeWidth: 2.5, stroke: "currentColor",
        insetTop: 5, insetBottom: 12 }),
      Plot.ruleY(intervals, { y: null, x1: "low", x2: "high", fy: "arm", strokeWidth: 2,
        dy: size / 2 - 7,
        stroke: "currentColor", marker: "tick" }),
    ],
  });
  figure.append(svgOf(plot, `${label}. ${words}`));
  if (floor !== null && !logarithmic) caption.append(` Band: ${floor.what}.`);
  if (logarithmic) caption.append(" The axis is logarithmic.");
  figure.append(caption);
  return figure;
}

// "20k" and "0.05" where they tell the ticks apart; plain numbers else.
function axisFormat(values: number[]): ((value: number) => string) | undefined {
  const greatest = Math.max(...values.map(Math.abs));
  if (greatest < 1e5) return undefined;
  const units: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  return (value) => {
    for (const [size, unit] of units) {
      if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(6))}${unit}`;
    }
    return String(value);
  };
}

interface Reading {
  name: string;
  at: number;
  value: number;
}

function lines(readings: Reading[], x: string, y: string, label: string): HTMLElement {
  const names = [...new Set(readings.map((reading) => reading.name))];
  const plot = Plot.plot({
    width: WIDTH,
    height: 220,
    marginLeft: 64,
    marginRight: 24,
    x: { label: `${x} →`, inset: 8,
      ticks: Math.min(10, new Set(readings.map((reading) => reading.at)).size),
      tickFormat: (value: number) => (Number.isInteger(value) ? String(value) : "") },
    y: { label: `↑ ${y}`, grid: true, zero: true,
      tickFormat: axisFormat(readings.map((reading) => reading.value)) },
    color: { domain: names, range: names.map((_, index) => colour(index)) },
    symbol: { domain: names, legend: names.length > 1 },
    marks: [
      Plot.ruleY([0]),
      Plot.lineY(readings, { x: "at", y: "value", stroke: "name", z: "name" }),
      Plot.dot(readings, { x: "at", y: "value", stroke: "name", symbol: "name", r: 3,
        title: (reading: Reading) => `${reading.name}: ${number(reading.value)}` }),
    ],
  });
  const figure = el("figure", {}, el("figcaption", {}, el("strong", {}, label)));
  figure.prepend(svgOf(plot, `${label}: ${names.join(", ")}`));
  return figure;
}

function readingsOf(course: Course, names: string[], perSecond: boolean): Reading[] {
  return names.flatMap((name) => (course.counters[name] ?? []).flatMap((value, at) => {
    const seconds = course.seconds?.[at];
    if (value === null) return [];
    if (!perSecond) return [{ name, at, value }];
    return seconds ? [{ name, at, value: value / seconds }] : [];
  }));
}

// Names of those counters that did anything in this trial.
function busy(course: Course, prefix: string): string[] {
  return Object.entries(course.counters)
    .filter(([name, values]) => name.startsWith(prefix) && values.some((value) => value))
    .map(([name]) => name);
}

// Stalls, reclaim and free blocks over the iterations of one trial.
export function course(of: Course): HTMLElement {
  const box = el("div", { "data-trial": of.trial });
  const stalls = readingsOf(of, busy(of, "psi."), false);
  if (stalls.length > 0) {
    box.append(lines(stalls, "iteration", "µs stalled", "Stall time of each iteration (PSI)"));
  }
  const rates = readingsOf(of, busy(of, "vmstat."), true);
  if (rates.length > 0) {
    box.append(lines(rates, "iteration", "per second of the probe",
      "Reclaim, compaction and swap in each iteration (vmstat)"));
  }
  const orders = Object.keys(of.gauges);
  if (orders.length > 0) box.append(blocks(of, orders));
  if (box.childElementCount === 0) {
    box.append(el("p", {}, "Nothing that was read changed in this trial."));
  }
  return box;
}

// Free blocks by order: a column a reading (before and after each iteration).
function blocks(of: Course, orders: string[]): HTMLElement {
  const cells = orders.flatMap((name) => (of.gauges[name] ?? []).flatMap((pair, iteration) =>
    pair.flatMap((value, after) => (value === null ? [] : [{
      reading: iteration * 2 + after,
      when: `${after === 1 ? "after" : "before"} iteration ${iteration}`,
      order: Number(/order(\d+)$/.exec(name)?.[1] ?? 0),
      value,
    }]))));
  const label = "Free blocks by order, before and after each iteration (buddyinfo)";
  const readings = [...new Set(cells.map((cell) => cell.reading))].sort((a, b) => a - b);
  const narrow = readings.length > 24;
  const plot = Plot.plot({
    width: WIDTH,
    height: 300,
    marginLeft: 64,
    marginBottom: narrow ? 40 : 64,
    x: { type: "band", domain: readings, label: null, tickRotate: narrow ? 0 : -30,
      tickFormat: (reading: number) => (narrow ? (reading % 8 === 0 ? String(reading / 2) : "")
        : `${reading % 2 === 1 ? "after" : "before"} ${Math.floor(reading / 2)}`) },
    y: { type: "band", label: "order", reverse: true },
    color: { type: "sqrt", scheme: "blues", legend: true, label: "free blocks" },
    marks: [
      Plot.cell(cells, { x: "reading", y: "order", fill: "value", inset: 0.5,
        title: (cell: (typeof cells)[number]) =>
          `order ${cell.order}, ${cell.when}: ${number(cell.value)} free blocks` }),
      narrow ? null : Plot.text(cells, { x: "reading", y: "order", fontSize: 10,
        text: (cell: (typeof cells)[number]) => number(cell.value),
        fill: "black", stroke: "white", strokeWidth: 3 }),
    ],
  });
  const figure = el("figure", {}, el("figcaption", {}, el("strong", {}, label)));
  figure.prepend(svgOf(plot, label));
  return figure;
}

// Changes of a case's judged metrics side by side, in % of the base.
export function forest(metrics: Metric[], arm: string, caseName: string): HTMLElement | null {
  const rows = metrics.flatMap((metric) => {
    const change = metric.changes[arm];
    if (!change || change.median_pct === null || metric.not_observable !== null) return [];
    return [{ name: metric.name, pct: change.median_pct, verdict: change.verdict as string,
      low: change.median_pct_ci95?.[0] ?? null, high: change.median_pct_ci95?.[1] ?? null }];
  });
  if (rows.length < 2) return null;
  const margin = Math.min(300, 24 + 7.2 * Math.max(...rows.map((row) => row.name.length)));
  const words = rows.map((row) => `${row.name} ${percent(row.pct)} (${row.verdict})`).join("; ");
  const verdicts = ["better", "worse", "no-change", "inconclusive", "too-few", "not-comparable"];
  const plot = Plot.plot({
    width: WIDTH,
    height: rows.length * 30 + 56,
    marginLeft: margin,
    marginRight: 24,
    x: { label: "change of the median in % →", grid: true, inset: 12 },
    y: { domain: rows.map((row) => row.name), label: null },
    color: { domain: verdicts, range: ["var(--better)", "var(--worse)", "var(--quiet)",
      "var(--quiet)", "var(--quiet)", "var(--quiet)"] },
    marks: [
      Plot.ruleX([0]),
      Plot.ruleY(rows.filter((row) => row.low !== null), { y: "name", x1: "low", x2: "high",
        stroke: "verdict", strokeWidth: 2, marker: "tick" }),
      Plot.dot(rows, { y: "name", x: "pct", fill: "verdict", r: 5,
        title: (row: (typeof rows)[number]) => `${row.name}: ${percent(row.pct)}, ${row.verdict}` }),
    ],
  });
  const figure = el("figure", {}, el("figcaption", {},
    el("strong", {}, `Changes of ${arm}${caseName === "" ? "" : `, ${caseName}`}`),
    ` with 95% intervals where there is one: ${words}.`));
  figure.prepend(svgOf(plot, words));
  return figure;
}
