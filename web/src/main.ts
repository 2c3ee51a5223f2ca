// SPDX-License-Identifier: GPL-2.0-or-later
// Puts the page together from its data. Everything is made from texts and numbers in two data
// blocks; nothing is fetched.
import type { Compare, Metric, Page } from "./data";
import { readCompare, readPage } from "./data";
import { el, lazy, section } from "./dom";
import { course, distribution, forest } from "./plots";
import * as parts from "./sections";

// Plots drawn at once; what is beyond is drawn when somebody opens it.
const PLOTS_AT_ONCE = 40;

// A row of zeros that says no more than its table does.
function nothingFailed(metric: Metric): boolean {
  return metric.name === "trial.failed"
    && Object.values(metric.arms).every((arm) => arm.values.every((value) => value === 0));
}

function distributionsSection(compare: Compare, page: Page): HTMLElement {
  const children: Node[] = [];
  let drawn = 0;
  compare.cases.forEach((each, index) => {
    const keys = each.metrics.filter((metric) => metric.key && !nothingFailed(metric));
    const shown = new Set(page.shown[index] ?? []);
    const metrics = keys.length > 0 ? keys
      : each.metrics.filter((metric) => shown.has(metric.name)).slice(0, 12);
    if (metrics.length === 0) return;
    const title = each.name === "" ? null : el("h3", {}, each.name);
    const make = () => {
      const box = el("div", {}, title);
      for (const arm of compare.arms.slice(1)) {
        if (compare.arms.length > 4) break;
        const overview = forest(metrics, arm.name, each.name);
        if (overview !== null) box.append(overview);
      }
      for (const metric of metrics) box.append(distribution(compare, page, index, metric));
      return box;
    };
    const now = drawn + metrics.length <= PLOTS_AT_ONCE || drawn === 0;
    drawn += metrics.length;
    children.push(now ? make() : lazy(`${each.name}: ${metrics.length} plots`, make));
  });
  if (children.length === 0) children.push(el("p", {}, "No metric to draw."));
  return section("distributions", "Distribution of trials by arm",
    el("p", { class: "legend" },
      "Each point is a trial (one boot). The tall line is the median, the line with ends its 95% ",
      "interval (none below 6 trials)."),
    ...children);
}

function coursesSection(compare: Compare, page: Page): HTMLElement {
  const id = "courses";
  const title = "Within a trial";
  if (page.courses.length === 0) {
    return section(id, title, el("p", {}, "No readings within trials are stored."));
  }
  const name = (trial: number) => {
    const found = page.trials.find((each) => each.trial === trial);
    if (!found) return `trial ${trial}`;
    const where = found.case === "" ? "" : `, ${found.case}`;
    return `trial ${trial}: ${found.arm}${where}, seed ${found.seed}`;
  };
  const select = el("select", { id: "trial" }, ...page.courses.map((each, index) =>
    el("option", { value: index }, name(each.trial))));
  const box = el("div", { "aria-live": "polite" });
  const draw = () => {
    const chosen = page.courses[Number(select.value)];
    box.replaceChildren(...(chosen ? [el("h3", {}, name(chosen.trial)), course(chosen)] : []));
  };
  select.addEventListener("change", draw);
  draw();
  const left = page.courses_left_out;
  return section(id, title,
    el("p", { class: "control" }, el("label", { for: "trial" }, "Trial "), select,
      left > 0 ? ` (the readings of ${left} more trials aren't in this page: manometer show ${
        compare.runset} --trial N)` : ""),
    box);
}

function themeButton(): HTMLElement {
  const button = el("button", { type: "button", class: "theme" });
  const dark = () => {
    const chosen = document.documentElement.dataset["theme"];
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const say = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset["theme"] = dark() ? "light" : "dark";
    say();
  });
  say();
  return button;
}

function contents(sections: HTMLElement[]): HTMLElement {
  return el("nav", { "aria-label": "Contents" }, el("ol", {}, ...sections.map((each) =>
    el("li", {}, el("a", { href: `#${each.id}` }, each.querySelector("h2")?.textContent ?? each.id)))));
}

// What is folded away on the screen must be on paper as well, but for long lists.
function openForPrint(): void {
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("#reproduce details")) {
      (details as HTMLDetailsElement).open = true;
    }
  });
}

function show(): void {
  const compare = readCompare();
  const page = readPage();
  const sections = [
    parts.verdictSection(compare, page),
    parts.tableSection(compare),
    distributionsSection(compare, page),
    parts.othersSection(compare, page),
    coursesSection(compare, page),
    parts.doubtsSection(compare),
    parts.equivalenceSection(compare),
    parts.confoundersSection(compare),
    parts.lossesSection(compare),
    parts.failedSection(compare),
    parts.spoiledSection(compare),
    parts.environmentSection(compare, page),
    parts.reproduceSection(compare, page),
  ];
  const main = document.getElementById("main");
  if (main === null) throw new Error("the page has no main element");
  main.replaceChildren(...sections);
  document.getElementById("bar")?.append(contents(sections), themeButton());
  openForPrint();
  // For tests: drawn, and after how many milliseconds.
  document.documentElement.dataset["ready"] = Math.round(performance.now()).toString();
}

try {
  show();
} catch (error) {
  const main = document.getElementById("main");
  main?.prepend(el("p", { role: "alert" }, `This page couldn't be drawn: ${String(error)}`));
  throw error;
}
