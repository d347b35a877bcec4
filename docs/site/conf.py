"""How Sphinx makes the site of docs/ and of the sources' own documentation; scripts/docs calls it."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "Vernier"
author = copyright = "the authors of Vernier"
release = re.search(r"project\(vernier VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe"]
exclude_patterns = ["docs/site"]
html_theme = "furo"
html_title = f"Vernier {release}"
html_copy_source = False

myst_heading_anchors = 4
myst_ref_domains = ["std"]
suppress_warnings = ["misc.highlighting_failure"]  # what commands print is no language

autodoc_mock_imports = ["vernier_engine._core"]  # the compiled module; its documentation is in what wraps it
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signatures show them
autodoc_default_options = {"members": True, "show-inheritance": False}

breathe_projects = {"vernier": str(ROOT / "build/docs/doxygen/xml")}
breathe_default_project = "vernier"
breathe_domain_by_file_pattern = {"*/vernier_c.h": "c"}

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>\n?', re.MULTILINE)


def as_page_of_the_site(app, name, source):
    """Links to sources and folders are for readers of the repository: here their text stays. Folders that have a page lead to it."""
    page = pathlib.Path(app.srcdir) / f"{name}.md"
    if not page.exists():
        return

    def kept(link):
        text, target, anchor = link[1], link[2], link[3] or ""
        if re.match(r"\w+:", target):
            return link[0]
        if (page.parent / target / "README.md").exists():
            return f"[{text}]({target.rstrip('/')}/README.md{anchor})"
        return link[0] if (page.parent / target).is_file() else text

    source[0] = ANCHOR.sub(r"(\1)=\n", LINK.sub(kept, source[0]))
    if name == "index":
        others = app.env.found_docs - set(re.findall(r"^[\w/-]+$", source[0], re.MULTILINE)) - {"index", "README"}
        source[0] = source[0].replace("@others", "\n".join(sorted(others)))


def setup(app):
    app.connect("source-read", as_page_of_the_site)
