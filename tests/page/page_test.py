#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens reports in a headless browser and compares what is drawn with the JSON of the comparison.

  page_test.py PAGE_FILES     the program that writes the reports (src/report/page_files.cpp)

Of every report: each section is there, each number of the tables and each point of the plots is that
of the JSON, nothing was said on the console, tables and figures have what a screen reader needs, and
nothing is loaded from anywhere. Of the hostile one: no text became markup. Of the large one: the
same; how long it took is printed, not judged. A browser that is missing is a failure: Debian's
package chromium (tools/deps test).
"""
import html.parser
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

SECTIONS = ["verdict", "table", "distributions", "others", "courses", "doubts", "equivalence",
            "confounders", "losses", "failed", "spoiled", "environment", "reproduce"]
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Element:
    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent = name, dict(attributes), parent
        self.children = []

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, name, **attributes):
        return [each for each in self.walk() if each.name == name
                and all(each.attributes.get(key.strip("_").replace("_", "-")) == value
                        for key, value in attributes.items())]

    def text(self):
        return "".join(child.text() if isinstance(child, Element) else child
                       for child in self.children)


class Tree(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("root", {}, None)
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        element = Element(name, attributes, self.at)
        self.at.children.append(element)
        if name not in VOID:
            self.at = element

    def handle_startendtag(self, name, attributes):
        self.at.children.append(Element(name, attributes, self.at))

    def handle_endtag(self, name):
        element = self.at
        while element.parent is not None and element.name != name:
            element = element.parent
        if element.parent is not None:
            self.at = element.parent

    def handle_data(self, data):
        self.at.children.append(data)


def show_number(value):
    """As src/report/layout.cpp does."""
    if value is None:
        return "unknown"
    if abs(value) < 1e7 and value == math.floor(value):
        return f"{value + 0.0:.0f}"
    if abs(value) >= 1e7:
        return f"{value:.4g}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


class Checker:
    def __init__(self, name):
        self.name, self.faults, self.checked = name, [], 0

    def equal(self, got, wanted, what):
        self.checked += 1
        if got != wanted:
            self.faults.append(f"{self.name}: {what}: {got!r}, expected {wanted!r}")

    def true(self, fact, what):
        self.equal(bool(fact), True, what)


def browse(browser, url, home, *more):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home}",
               "--enable-logging=stderr", "--virtual-time-budget=20000", *more, url]
    done = subprocess.run(command, capture_output=True, timeout=240, stdin=subprocess.DEVNULL)
    errors = done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8", "replace"), [
        line for line in errors.split("\n") if "CONSOLE" in line]


def json_text(value):
    """What the browser makes of a text with surrogates or none."""
    return value.replace("\r\n", "\n").replace("\r", "\n")


def check_table(check, section, data):
    cells = {}
    for row in section.all("tr"):
        if "data-row" not in row.attributes:
            continue
        for cell in row.all("td"):
            if "data-metric" in cell.attributes:
                key = (cell.attributes["data-metric"], cell.attributes["data-arm"])
                cells.setdefault(key, []).append(cell)
    for index, case in enumerate(data["cases"]):
        for metric in case["metrics"]:
            if not metric["key"]:
                continue
            for arm, values in metric["arms"].items():
                found = cells.get((metric["name"], arm), [])
                check.true(found, f"{metric['name']} of {arm} in the table")
                # The base stands once for each arm that it is compared with.
                times = len(found) // max(1, len(data["cases"]))
                for cell in found[index * times:(index + 1) * times]:
                    median = values["median"] if values["median"] is not None else (
                        values["mean"] if values["n"] else None)
                    shown = cell.attributes.get("data-median")
                    check.equal(None if shown is None else float(shown), median,
                                f"{case['name']} {metric['name']} of {arm}")
                    if metric["name"] == "trial.failed" and values["n"]:
                        wanted = f"{show_number(values['total'])} of {values['n']}"
                    else:
                        wanted = show_number(median) if values["n"] != 0 else "–"
                    check.equal(cell.text().split(" ±")[0], wanted,
                                f"text of {case['name']} {metric['name']} of {arm}")


def check_points(check, section, data):
    for figure in section.all("figure", _class="distribution"):
        case = next(each for each in data["cases"] if each["name"] == figure.attributes["data-case"])
        metric = next(each for each in case["metrics"]
                      if each["name"] == figure.attributes["data-metric"])
        known = [value for arm in metric["arms"].values() for value in arm["values"]
                 if value is not None]
        where = f"{case['name']} {metric['name']}"
        circles = figure.all("circle")
        check.equal(len(circles), len(known), f"points of {where}")
        titles = sorted(title.text().rsplit(": ", 1)[1] for circle in circles
                        for title in circle.all("title"))
        check.equal(titles, sorted(map(show_number, known)), f"values of the points of {where}")
    drawn = {(each.attributes["data-case"], each.attributes["data-metric"])
             for each in section.all("figure", _class="distribution")}
    folded = len(section.all("details"))
    for case in data["cases"]:
        for metric in case["metrics"]:
            if metric["primary"] and not folded:
                check.true((case["name"], metric["name"]) in drawn, f"plot of {metric['name']}")


def rows_of(section):
    return [row for body in section.all("tbody") for row in body.all("tr")]


def check_lists(check, sections, data):
    for key in ("failed", "spoiled", "confounders"):
        check.equal(len(rows_of(sections[key])), len(data[key]), f"rows of {key}")
    for key in ("failed", "spoiled"):
        for row, each in zip(rows_of(sections[key]), data[key]):
            check.true(str(each["trial"]) in row.text(), f"number of a trial that {key}")
            text = each.get("reason") or each.get("evidence")
            check.true(text is None or json_text(text) in row.text(), f"what a trial {key} for")
    check.equal(len(rows_of(sections["equivalence"])),
                sum(len(case["equivalence"]) for case in data["cases"]), "rows of equivalence")
    check.equal(len(sections["doubts"].all("li")), len(data["warnings"]), "doubts")
    check.equal(len(rows_of(sections["losses"])),
                len({(loss["source"], loss["meaning"]) for loss in data["losses"]}), "losses")
    badge = sections["verdict"].all("p", _class="headline")[0].all("span")[0]
    check.equal(badge.text().split(" ")[1], data["verdict"], "the verdict")


def check_access(check, root):
    """What somebody with a screen reader or only a keyboard needs."""
    check.equal(root.all("html")[0].attributes.get("lang"), "en", "language")
    for svg in root.all("svg"):
        # A legend's own drawings belong to the figure that is described.
        described = svg.attributes.get("role") == "img" and svg.attributes.get("aria-label")
        check.true(described or any(other.attributes.get("role") == "img"
                                    for other in figure_of(svg).all("svg")), "a figure in words")
    for table in root.all("table"):
        check.equal(len(table.all("caption")), 1, "caption of a table")
        check.true(all("scope" in head.attributes for head in table.all("th")), "scope of headers")
        check.equal(table.parent.attributes.get("tabindex"), "0", "a table by keyboard")
    labels = {label.attributes.get("for") for label in root.all("label")}
    for name in ("select", "input"):
        for control in root.all(name):
            check.true(control.attributes.get("id") in labels, f"label of a {name}")
    ids = {each.attributes["id"] for each in root.walk() if "id" in each.attributes}
    for link in root.all("a"):
        check.true(link.attributes["href"].lstrip("#") in ids, f"target of {link.text()}")


def figure_of(element):
    while element.parent is not None and element.name != "figure":
        element = element.parent
    return element


def check_closed(check, root):
    """Nothing is fetched, and no text became an element."""
    for element in root.walk():
        for key in ("src", "srcset", "action", "data"):
            check.true(key not in element.attributes, f"{element.name} has {key}")
        for key in element.attributes:
            check.true(not key.startswith("on"), f"{element.name} has {key}")
        href = element.attributes.get("href", element.attributes.get("xlink:href", "#"))
        # A colour scale is an image made by the page itself.
        check.true(href.startswith(("#", "data:image/png;base64,")), f"link to {href[:40]}")
    for name in ("img", "b", "iframe", "object", "link"):
        check.equal(len(root.all(name)), 0, f"elements {name}")
    check.equal(len(root.all("script")), 3, "scripts")


def check_page(browser, folder, name, home):
    check = Checker(name)
    with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
        data = json.load(file)
    text, console = browse(browser, f"file://{folder}/{name}.html", home, "--dump-dom")
    check.equal(console, [], "said on the console")
    root = Tree(text).root
    ready = root.all("html")[0].attributes.get("data-ready") if root.all("html") else None
    check.true(ready is not None, "drawn to its end")
    sections = {each.attributes.get("id"): each for each in root.all("section")}
    check.equal(list(sections), SECTIONS, "sections")
    if not check.faults:
        for section in sections.values():
            check.equal(len(section.all("h2")), 1, "headings")
        check_table(check, sections["table"], data)
        check_points(check, sections["distributions"], data)
        check_lists(check, sections, data)
        check_access(check, root)
        check_closed(check, root)
    print(f"{name}: {check.checked} checks, {len(check.faults)} faults, drawn after {ready} ms")
    return check


def check_paper(browser, folder, home):
    """The page prints."""
    check = Checker("on paper")
    out = os.path.join(folder, "paper.pdf")
    browse(browser, f"file://{folder}/iterations.html", home, f"--print-to-pdf={out}",
           "--no-pdf-header-footer")
    data = b""
    if os.path.exists(out):
        with open(out, "rb") as file:
            data = file.read()
    check.true(data.startswith(b"%PDF"), "a PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    check.true(pages >= 2, "several pages")
    print(f"on paper: {pages} pages")
    return check


def main():
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser",
                                                   "google-chrome"))), None)
    if browser is None:
        sys.exit("page_test: no chromium here: tools/deps test installs it")
    with tempfile.TemporaryDirectory(prefix="manometer-page-") as folder:
        home = os.path.join(folder, "home")
        for more in ([], ["--large"]):
            subprocess.run([sys.argv[1], folder, *more], check=True, timeout=300)
        names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".html"))
        if len(names) < 8:
            sys.exit(f"page_test: only {len(names)} reports were written")
        checks = [check_page(browser, folder, name, home) for name in names]
        checks.append(check_paper(browser, folder, home))
    faults = [fault for check in checks for fault in check.faults]
    for fault in faults[:60]:
        print(fault[:500])
    print(f"{sum(check.checked for check in checks)} checks in {len(checks)} reports, "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
