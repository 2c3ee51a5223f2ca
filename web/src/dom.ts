// SPDX-License-Identifier: GPL-2.0-or-later
// Elements from names and texts. Text is always set as text, never as markup: arms, cases, facts
// and evidence come from guests and files.

export type Child = Node | string | null;
type Attributes = Record<string, string | number | boolean | null>;

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child !== null) element.append(child);
  }
  return element;
}

// A long name with places where a line may break: behind each '.', '_' and '/'.
export function breakable(name: string): HTMLElement {
  const parts = name.split(/(?<=[._/])/);
  return el("span", {}, ...parts.flatMap((part, index): Child[] =>
    (index === 0 ? [part] : [document.createElement("wbr"), part])));
}

export interface Column {
  title: string;
  numeric?: boolean;
}

// A table with a caption; the first cell of each row is its header.
export function table(
  caption: string, columns: Column[], rows: { cells: Child[]; attributes?: Attributes }[],
): HTMLElement {
  const head = el("tr", {}, ...columns.map((column) =>
    el("th", { scope: "col", class: column.numeric ? "number" : null }, column.title)));
  const body = rows.map((row) => el("tr", row.attributes ?? {}, ...row.cells.map((cell, index) => {
    if (index === 0) return el("th", { scope: "row" }, cell);
    return cell instanceof HTMLTableCellElement
      ? cell
      : el("td", { class: columns[index]?.numeric ? "number" : null }, cell);
  })));
  // Wide tables scroll by themselves; the frame can be reached and scrolled by keyboard.
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body)));
}

// A section with its heading; the table of contents is made of these.
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), ...children);
}

// Content that is only made when somebody opens it.
export function lazy(summary: string, make: () => Node): HTMLDetailsElement {
  const details = el("details", {}, el("summary", {}, summary));
  let made = false;
  details.addEventListener("toggle", () => {
    if (!details.open || made) return;
    made = true;
    details.append(make());
  });
  return details;
}

export function copyButton(text: string, what: string): HTMLButtonElement {
  const button = el("button", { type: "button", class: "copy" }, `Copy ${what}`);
  button.addEventListener("click", () => {
    void navigator.clipboard.writeText(text).then(
      () => { button.textContent = "Copied"; },
      () => { button.textContent = "Couldn't copy: select the text"; });
  });
  return button;
}
