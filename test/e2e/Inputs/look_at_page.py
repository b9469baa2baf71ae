"""Looks at a page of --emit=report with a browser, and without.

  look_at_page.py PAGE.html PLAN.json [--script=TEXT]

The page must be well-formed, load nothing, have a node and a row for each layer
of the plan, by its name, and be in the browser what it is in the file. Nobody
may say anything to the console. With --script the page is also changed, so that
a script that is not its own stands in it: the browser must refuse to run it, and
say so, which shows that the console is heard. And its tools are used.
"""

import argparse
import html.parser
import io
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from PIL import Image


class Elements(html.parser.HTMLParser):
    """All elements of a document: [tag, attributes, text]."""
    VOID = {"meta", "input", "link", "img", "br", "hr"}

    def __init__(self, text):
        super().__init__()
        self.all, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.all.append([tag, dict(attributes), ""])
        if tag not in self.VOID:
            self.open.append(self.all[-1])

    def handle_startendtag(self, tag, attributes):
        self.all.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def of_class(self, name):
        return [e for e in self.all if name in (e[1].get("class") or "").split()]

    def of_tag(self, tag):
        return [e for e in self.all if e[0] == tag]


def browse(path, *options):
    """What the browser writes, and what it heard on the console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage",
             "--enable-logging=stderr", f"--user-data-dir={profile}",
             "--hide-scrollbars", *options, f"file://{path}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    log = done.stderr.decode(errors="replace")
    if done.returncode:
        sys.exit(f"chromium ends with code {done.returncode}:\n{log}")
    return (done.stdout.decode(),
            [line for line in log.split("\n") if "CONSOLE" in line])


def shown(name):
    """A name as the page shows it: what cannot be seen is spelled."""
    return "".join(c if c.isprintable() or ord(c) >= 0x80 else f"\\x{ord(c):02x}"
                   for c in name)


# Uses the tools that the page's script adds, and tells what came of it.
USE = """
const told = [];
const width = (id) => document.getElementById(id).getBoundingClientRect().width;
for (const [id, at] of [["network", 1], ["timeline", 4]]) {
  const before = width(id);
  document.querySelectorAll(".tools button")[at].click();
  told.push(width(id) / before > 1.4);
}
const filter = document.querySelector(".tools input");
filter.value = document.querySelector("#layers tbody th").textContent;
filter.dispatchEvent(new Event("input"));
told.push(document.querySelectorAll("#layers tbody tr:not([hidden])").length);
const over = new Event("pointerover", {bubbles: true});
document.querySelector(".network .node").dispatchEvent(over);
told.push(document.querySelectorAll("a.node.lit, #layers tr.lit").length);
document.body.dataset.told = told.join(" ");
"""


def check_file(text, layers):
    # Style and script are no XML; everything else must be.
    tree = ElementTree.fromstring(
        re.sub(r"<(style|script)>.*?</\1>", r"<\1></\1>", text, flags=re.S))
    rows = {row.get("id"): row for row in tree.iter("tr")}
    names = ["".join(rows[f"layer-{i}"].find("th").itertext())
             for i in range(len(layers))]
    assert names == layers, (names, layers)
    within = {part for picture in tree.iter("svg") for part in picture.iter("svg")
              if part is not picture}
    for element in tree.iter():
        assert not any(name.startswith("on") for name in element.keys()), element
        assert element.get("src") is None, element
        assert element.get("href", "#").startswith("#"), element.get("href")
        if element.get("href"):
            target = element.get("href")[1:]
            assert tree.find(f".//*[@id='{target}']") is not None, target
        if element.tag == "svg" and element not in within:
            assert element.get("aria-label") or element.get("aria-hidden"), "no label"
    for row in tree.iter("thead"):
        assert all(head.get("scope") == "col" for head in row.iter("th"))
    assert not re.search(r"url\(|@import|https?://", text), "loads something"
    return tree


def check_page(page, plan):
    with open(plan, encoding="utf-8") as file:
        layers = sorted(shown(name) for name in json.load(file)["layers"])
    with open(page, encoding="utf-8") as file:
        text = file.read()
    in_file = Elements(text)
    layers_there = [e[2] for e in in_file.of_class("name") if e[0] == "th"]
    assert sorted(e for e in layers_there) == layers, (layers_there, layers)
    tree = check_file(text, layers_there)

    dom, console = browse(page, "--dump-dom")
    assert not console, "\n".join(console)
    seen = Elements(dom)
    assert seen.of_tag("html")[0][1].get("class") == "js", "the script did not run"
    assert len(seen.of_tag("script")) == 1
    assert len([e for e in seen.of_class("node") if e[0] == "a"]) == len(layers)
    # What the script adds is tools; all else is as it was.
    tools = [e for e in seen.of_tag("button") + seen.of_tag("input")]
    assert len(seen.of_tag("input")) == 1 and not in_file.of_tag("input")
    assert tools
    for tag in ("a", "g", "path", "rect", "svg", "table", "td", "text", "th", "tr"):
        counts = [len(e.of_tag(tag)) for e in (in_file, seen)]
        assert counts[0] == counts[1] == len(list(tree.iter(tag))), (tag, counts)
    print(f"{len(layers)} layers, {len(seen.of_class('bar'))} bars, "
          f"{len(seen.of_tag('table'))} tables, nothing on the console")

    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        _, console = browse(page, f"--screenshot={file.name}",
                            "--window-size=1300,1200")
        assert not console, "\n".join(console)
        with open(file.name, "rb") as data:
            image = Image.open(io.BytesIO(data.read())).convert("RGB")
    colours = {colour for _, colour in image.getcolors(1 << 24)}
    assert (0x00, 0x72, 0xB2) in colours, "the first device is not to be seen"
    print(f"a picture of {image.size[0]} x {image.size[1]}")
    return text


def check_refusal(text, script):
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(text.replace("</main>", f"</main><script>{script}</script>"))
        file.flush()
        _, console = browse(file.name, "--dump-dom")
    assert any("Content Security Policy" in line for line in console), console
    assert not any("came through" in line for line in console), console
    print("a script that is not the page's is refused")


def check_tools(text):
    """Without the page's policy, which would refuse to run this."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(text.replace("</body>", f"<script>{USE}</script></body>"))
        file.flush()
        dom, console = browse(file.name, "--dump-dom", "--window-size=1300,1200")
    assert not console, "\n".join(console)
    told = Elements(dom).of_tag("body")[0][1].get("data-told")
    assert told == "true true 1 2", told
    print("the tools work")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("plan")
    parser.add_argument("--script")
    options = parser.parse_args()
    text = check_page(options.page, options.plan)
    if options.script:
        check_refusal(text, options.script)
        check_tools(text)


if __name__ == "__main__":
    main()
