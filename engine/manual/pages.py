#!/usr/bin/env python3
"""Writes the manual's pages, start page and search index, and checks all links.

  pages.py FOLDER          writes the pages into FOLDER, in which Doxygen and python_reference.py have written already
  pages.py FOLDER --check  checks what is there: one line for each dead link or overlong page, and exit code 1 if there is one

A page is include/heed/guide/*.md, or a Markdown file that a page links to. Other files that pages link to are copied, so that the folder
can be put on a server as it is.
"""
import html
import html.parser
import json
import os
import pathlib
import re
import shutil
import sys
import urllib.parse
import xml.etree.ElementTree

import markdown2

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GUIDE = ROOT / "include/heed/guide"
LINES = 150
BAR = (HERE / "bar.html").read_text()
EXTRAS = ["fenced-code-blocks", "tables", "cuddled-lists", "code-friendly", "strike"]


def name_of(page):
    """Returns the path of a page within the manual."""
    if page.parent == GUIDE:
        return page.stem + ".html"
    return "-".join(page.relative_to(ROOT).with_suffix(".html").parts)


def slug(heading):
    """Returns the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]+>", "", html.unescape(heading)).lower()).replace(" ", "-")


def header_page(path):
    """Returns the path of Doxygen's page for a public header."""
    name = re.sub(r"[A-Z]", lambda m: "_" + m.group().lower(), path.name.replace("_", "__").replace(".", "_8"))
    return f"cpp/{name}.html"


def title_of(text):
    return re.search(r"^# (.+)", text, re.M).group(1)


def opening_of(text):
    """Returns the first sentence below the title, as HTML."""
    paragraph = re.search(r"^# .+\n+((?:[^\n!|`].*\n)+)", text, re.M)
    first = markdown2.markdown(paragraph.group(1).replace("\n", " "), extras=EXTRAS) if paragraph else ""
    return re.split(r"(?<=\.) (?=[A-Z])", re.sub(r"</?(p|a)\b[^>]*>", "", first).strip())[0]


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pages = []
        self.names = []  # (name, kind, address) for the search
        place = {page: int((re.match(r"<!-- (\d+) -->", page.read_text()) or [0, 999])[1]) for page in GUIDE.glob("*.md")}
        self.guide = sorted(place, key=lambda page: (place[page], page.name))

    def address(self, page, link):
        """Returns the address within the manual that a link of a page leads to, or None if the manual does not show the target."""
        if re.match(r"\w+:", link) or link.startswith("#"):
            return link
        path, _, anchor = link.partition("#")
        target = (page.parent / urllib.parse.unquote(path)).resolve()
        anchor = "#" + anchor if anchor else ""
        if not target.exists() or ROOT not in target.parents:
            return link  # the check reports it as dead
        if target.is_dir():
            if not (target / "README.md").exists():
                return None
            target /= "README.md"
        if target.suffix == ".md":
            if target not in self.pages:
                self.pages.append(target)
            return name_of(target) + anchor
        if target.suffix in (".hpp", ".h") and ROOT / "include" in target.parents:
            return header_page(target)
        copy = self.folder / "files" / target.relative_to(ROOT)
        if target.suffix == ".xml" or target.suffix in (".cpp", ".sh", ".comp", ".glsl", ".inc", ".csv"):  # shown as text
            copy = copy.with_name(copy.name + ".txt")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, copy)
        return str(copy.relative_to(self.folder))

    def write(self, name, title, body):
        (self.folder / name).write_text(
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{html.escape(title)}</title>\n<link rel="stylesheet" href="style.css">\n</head>\n<body>\n'
            f'{BAR.replace("@ROOT@", "")}<main>\n{body}</main>\n</body>\n</html>\n')

    def page(self, page):
        text = re.sub(r"^<!--.*?-->\n+", "", page.read_text())
        title, name, seen = title_of(text), name_of(page), {}
        body = markdown2.markdown(text, extras=EXTRAS)

        def heading(match):
            anchor = slug(match[2])
            seen[anchor] = seen.get(anchor, -1) + 1
            anchor += f"-{seen[anchor]}" if seen[anchor] else ""
            if match[1] != "1":
                self.names.append((html.unescape(re.sub(r"<[^>]+>", "", match[2])), title, f"{name}#{anchor}"))
            return f'<h{match[1]} id="{anchor}">{match[2]}</h{match[1]}>'

        def linked(match):
            address = self.address(page, html.unescape(match[2]))
            return f'<a href="{html.escape(address)}">{match[3]}</a>' if address else match[3]

        body = re.sub(r"<h(\d)>(.*?)</h\1>", heading, body)
        body = re.sub(r'<a (href)="([^"]*)">(.*?)</a>', linked, body, flags=re.S)
        body = re.sub(r'(<img src=")([^"]*)"', lambda m: f'{m[1]}{self.address(page, m[2])}"', body)
        self.names.append((title, "page", name))
        self.write(name, title, body)

    def start(self):
        readme = (ROOT / "README.md").read_text()
        text = f"<h1>heed</h1>\n<p>{opening_of(readme)}</p>\n<h2>Guide</h2>\n<dl class=\"pages\">\n"
        for page in self.guide:
            words = page.read_text()
            text += f'<dt><a href="{name_of(page)}">{html.escape(title_of(words))}</a></dt><dd>{opening_of(words)}</dd>\n'
        text += "</dl>\n<h2>Reference</h2>\n<dl class=\"pages\">\n"
        using = ROOT / "include/heed/README.md"
        text += f'<dt><a href="{name_of(using)}">{title_of(using.read_text())}</a></dt><dd>which header is for what, how heed is built in, what it does not do</dd>\n'
        text += '<dt><a href="cpp/files.html">C++ and C, by header</a></dt><dd>what each header declares, with shapes, types, owners and errors</dd>\n'
        text += '<dt><a href="cpp/annotated.html">C++ and C, by name</a></dt><dd>all classes and structs</dd>\n'
        text += '<dt><a href="python/heed.html">Python</a></dt><dd>the package <code>heed</code></dd>\n</dl>\n<h2>More</h2>\n<dl class="pages">\n'
        for page in sorted((p for p in self.pages if p not in self.guide), key=name_of):
            words = page.read_text()
            text += f'<dt><a href="{name_of(page)}">{html.escape(title_of(words))}</a></dt><dd>{page.relative_to(ROOT)}</dd>\n'
        self.write("index.html", "heed", text + "</dl>\n")

    def names_of_code(self):
        """Collects the names documented by Doxygen and pdoc."""
        for compound in xml.etree.ElementTree.parse(self.folder / "cpp.tag").getroot():
            kind, name = compound.get("kind"), compound.findtext("name")
            file = compound.findtext("filename")
            if kind in ("class", "struct", "file"):
                self.names.append((name, {"file": "header"}.get(kind, kind), "cpp/" + file + ("" if file.endswith(".html") else ".html")))
            scope = "" if kind == "file" else name + "::"
            for member in compound.findall("member"):
                if kind == "file" and not re.match("heed|HEED", member.findtext("name")):
                    continue  # a namespace of the same name is listed
                self.names.append((scope + member.findtext("name"), member.get("kind"), f'cpp/{member.findtext("anchorfile")}#{member.findtext("anchor")}'))
        for path in sorted((self.folder / "python").rglob("*.html")):
            module = ".".join(path.relative_to(self.folder / "python").with_suffix("").parts)
            self.names.append((module, "Python", str(path.relative_to(self.folder))))
            for name in re.findall(r'<(?:section|div) id="([\w.]+)"', path.read_text()):
                self.names.append((f"{module}.{name}", "Python", f"{path.relative_to(self.folder)}#{name}"))

    def build(self):
        self.pages = [*self.guide, ROOT / "README.md"]
        for page in self.pages:  # add() appends to the list
            self.page(page)
        self.start()
        self.names_of_code()
        unique = sorted(set(self.names))
        (self.folder / "names.js").write_text("const NAMES = " + json.dumps(unique, separators=(",", ":")) + ";\n")


class Page(html.parser.HTMLParser):
    """Collects the anchors and links of an HTML file."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values.get("id"), values.get("name") if tag == "a" else None}
        link = values.get("href" if tag in ("a", "link") else "src")
        if link and not re.match(r"\w+:", link):
            self.links.append(urllib.parse.unquote(link))


def check(folder):
    failed, links = 0, 0
    folders = ("include", "engine", "shaders", "samples", "tests")
    for page in sorted([*ROOT.glob("*.md"), *(page for name in folders for page in (ROOT / name).rglob("*.md"))]):
        lines = page.read_text().count("\n")
        if lines > LINES:
            print(f"FAIL {page.relative_to(ROOT)} has {lines} lines, and may have {LINES}")
            failed += 1
    files = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    for path, page in sorted(files.items()):
        for link in page.links:
            links += 1
            to, _, anchor = link.partition("#")
            target = pathlib.Path(os.path.normpath(path.parent / to)) if to else path
            if not target.is_file() or (anchor and target in files and anchor not in files[target].anchors):
                print(f"FAIL {path.relative_to(folder)} links to {link}, which is not there")
                failed += 1
    pages = [path.stem for path in GUIDE.glob("*.md")]
    print(f"ok {links - failed} links of {len(files)} files, {len(pages)} pages of the guide")
    return 1 if failed else 0


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:] == ["--check"]:
        sys.exit(check(where))
    Site(where).build()
