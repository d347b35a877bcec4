"""Links of the pages and pages that sources cite are there: links_test.py SOURCE_DIR

An anchor must be a heading of its page, or an id in it. Links into the web are not followed.
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path()
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
CITED = re.compile(r"(?<![\w/])docs/(?:[\w-]+/)*[\w-]+\.(?:md|json|py)\b")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors_of(text):
    """The anchors of a page, as GitHub makes them of its headings, and its ids."""
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(text)}
    return slugs | set(re.findall(r'\bid="([^"]+)"', text))


def broken_links(page, text):
    """The relative links of a page that lead to no file, folder or heading inside of the repository."""
    found = []
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if link.startswith("/") or not target.is_relative_to(ROOT) or not target.exists():
            found.append(link)
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(text if target == page else target.read_text()):
            found.append(link)
    return found


def missing_pages(text):
    return sorted({name for name in CITED.findall(text) if not (ROOT / name).is_file()})


def pages():
    folders = ("docs", "examples", "benchmarks")
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(path for folder in folders for path in (ROOT / folder).rglob("*.md"))]


def sources():
    """All files, since scripts have no ending; the inputs of fuzzing are no text."""
    for folder in ("src", "include", "tests", "scripts", "python"):
        for path in (ROOT / folder).rglob("*"):
            if not {"corpus", "__pycache__"} & set(path.relative_to(ROOT).parts) and path.is_file():
                yield path


class Links(unittest.TestCase):
    def test_links_lead_to_files_of_the_repository(self):
        broken = {str(page.relative_to(ROOT)): broken_links(page, page.read_text()) for page in pages()}
        self.assertGreater(len(broken), 12)
        self.assertEqual({page: links for page, links in broken.items() if links}, {})

    def test_pages_that_sources_cite_exist(self):
        texts = {str(path.relative_to(ROOT)): path.read_bytes().decode(errors="replace") for path in sources()}
        self.assertGreater(sum(len(CITED.findall(text)) for text in texts.values()), 20)
        missing = {path: missing_pages(text) for path, text in texts.items()}
        self.assertEqual({path: names for path, names in missing.items() if names}, {})

    def test_a_broken_link_is_seen(self):
        page = ROOT / "docs/api.md"
        wrong = ["nothing.md", "nothing.md#part", "docs/api.md", "../..", "/docs/api.md", "README.md#nothing", "#nothing"]
        right = ["api.md", "architecture.md#python", "#part", "../README.md", "../examples/cpp", "https://example.org/nothing.md"]
        text = "# Part\n" + "".join(f"see [this\npage]({link}), " for link in [*right, *wrong])
        self.assertEqual(broken_links(page, text), wrong)
        self.assertEqual(broken_links(page, "`a[0](x)`\n```\nb[1](y)\n```\n[`code`](nowhere)"), ["nowhere"])

    def test_a_missing_page_is_seen(self):
        folder = "docs"  # apart, so that this file cites no page that is missing
        text = f"// {folder}/api.md, {folder}/none.md.\n# see {folder}/other.json"
        self.assertEqual(missing_pages(text), [f"{folder}/none.md", f"{folder}/other.json"])


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
