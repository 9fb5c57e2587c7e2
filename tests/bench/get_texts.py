#!/usr/bin/env python3
"""Texts for `satchel eval agreement`: three long English ones, cut from documents that Debian packages
carry, and some of the kind that the bundled model knows.

    tests/bench/get_texts.py FOLDER     writes handbook.txt, essays.txt, history.txt, notes-00.txt …

Fetches debian-handbook, anarchism and debian-history with `apt-get download` into a temporary folder and
takes the paragraphs of the named pages in order, plain, one a line, up to 48,000 characters (more than
8,192 tokens). Nothing of them is part of Satchel. docs/benchmarks/2026-11-codecs.md says what was
measured with them. Notes are held-out ones of the bundled model
(models/notes-heldout.jsonl), each with its questions and answers behind it.
"""
import gzip
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CHARACTERS = 48_000
HANDBOOK = ("the-debian-project", "sect.foundation-documents", "case-study", "sect.why-gnu-linux",
            "sect.why-debian", "existing-setup", "sect.how-to-migrate", "installation",
            "sect.installation-steps", "packaging-system", "sect.source-package-structure")
N_NOTES = 24
HELD_OUT = pathlib.Path(__file__).parents[2] / "models/notes-heldout.jsonl"
ESSAYS = ("secA1", "secA2", "secA3")


class Paragraphs(html.parser.HTMLParser):
    """The text of <p> and of <div class="para">, without what stands in a <div> inside."""

    def __init__(self):
        super().__init__()
        self.out, self.inside = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("p", "div"):
            return
        is_paragraph = tag == "p" or dict(attrs).get("class") == "para"
        self.inside.append((tag, is_paragraph))
        if is_paragraph:
            self.out.append("")

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1][0] == tag:
            self.inside.pop()

    def handle_data(self, data):
        if self.inside and self.inside[-1][1]:
            self.out[-1] += data


def paragraphs(page):
    reader = Paragraphs()
    reader.feed(page)
    plain = (re.sub(r"\s+", " ", p).strip() for p in reader.out)
    return [p for p in plain if len(p) > 80]  # no labels, no lines of menus


def unpack(package, folder):
    subprocess.run(["apt-get", "download", package], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    (deb,) = pathlib.Path(folder).glob(f"{package}_*.deb")
    root = pathlib.Path(folder) / package
    subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
    return root / "usr/share/doc"


def handbook(docs):
    pages = docs / "debian-handbook/html/en-US"
    return [p for name in HANDBOOK for p in paragraphs((pages / f"{name}.html").read_text("utf-8"))]


def essays(docs):
    out = []
    for name in ESSAYS:
        text = gzip.decompress((docs / f"anarchism/markdown/{name}.md.gz").read_bytes()).decode("utf-8")
        blocks = (re.sub(r"\s+", " ", b).strip() for b in text.split("\n\n"))
        links = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", b) for b in blocks)
        out += [re.sub(r"[*_#>\\]", "", b).strip() for b in links if len(b) > 80]
    return out


def history(docs):
    pages = sorted((docs / "debian-history/docs").glob("*.en.html"))
    return [p for page in pages for p in paragraphs(page.read_text("utf-8"))]


def write_notes(out):
    held = (json.loads(line) for line in HELD_OUT.read_text("utf-8").splitlines())
    of_set = [text for text in held if text["set"] == "names-2048"][:N_NOTES]
    for i, text in enumerate(of_set):
        asked = "\n".join(f"{each['ask']}\n{each['answer']}" for each in text["exchanges"])
        (out / f"notes-{i:02}.txt").write_text(text["notes"] + "\n" + asked + "\n", "utf-8")


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, package, of in (("handbook", "debian-handbook", handbook), ("essays", "anarchism", essays),
                              ("history", "debian-history", history)):
        with tempfile.TemporaryDirectory() as folder:
            text = "\n".join(of(unpack(package, folder)))
        if len(text) < CHARACTERS:
            sys.exit(f"{package} gave {len(text)} characters of {CHARACTERS}: its pages have changed.")
        (out / f"{name}.txt").write_text(text[:CHARACTERS], "utf-8")
    write_notes(out)


if __name__ == "__main__":
    main()
