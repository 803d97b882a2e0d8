"""Pages of the site that are made while it is built, and what Markdown of GitHub needs beside it.

`mkdocs.yml` names this file. Texts that lie elsewhere in the repository get a page; formulas become
MathML, which needs no script.
"""

from __future__ import annotations

import os
import posixpath
import re
from functools import partial
from pathlib import Path
from typing import Any

import latex2mathml.converter
from mkdocs.structure.files import File

DOCS = Path(__file__).parent
ROOT = DOCS.parent

COPIED = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "deploy.md": "deploy/README.md",
    "security-policy.md": "SECURITY.md",
}
"""Pages of texts that lie outside of docs."""

LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
FENCED = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<![\w$`])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(rf"{FENCE.pattern}|`[^`\n]+`", re.MULTILINE | re.DOTALL)

formulas: dict[str, list[str]] = {}


def on_files(files: Any, config: Any) -> Any:
    """Add the texts that lie elsewhere."""
    for path, name in COPIED.items():
        files.append(File.generated(config, path, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links at pages of the site, and keep formulas away from Markdown."""
    path = page.file.src_uri
    name = COPIED.get(path, f"docs/{path}")
    markdown = outside(FENCE, partial(with_links, name=name, path=path), markdown)
    if not path.startswith("reference/"):
        return markdown
    formulas[path] = []
    markdown = FENCED.sub(partial(put_aside, path, "block"), markdown)
    inline = partial(INLINE.sub, partial(put_aside, path, "inline"))
    return outside(CODE, inline, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Put the formulas in."""
    for number, formula in enumerate(formulas.pop(page.file.src_uri, [])):
        html = html.replace(f"FORMULA{number}X", formula)
    return html


def outside(code_blocks: re.Pattern[str], change: Any, text: str) -> str:
    """Change a text but for the code in it."""
    parts, end = [], 0
    for code in code_blocks.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def put_aside(path: str, display: str, match: re.Match[str]) -> str:
    """Keep a formula as MathML, and leave its number."""
    formulas[path].append(latex2mathml.converter.convert(match[1].strip(), display=display))
    return f"FORMULA{len(formulas[path]) - 1}X"


def with_links(text: str, name: str, path: str) -> str:
    """Point links at pages of the site; what has no page keeps its words."""
    return LINK.sub(partial(link, name=name, path=path), text)


def link(match: re.Match[str], name: str, path: str) -> str:
    """Return a link as the site has it."""
    image, text, target, anchor = match[1], match[2], match[3], match[4] or ""
    if not target or re.match(r"[a-z]+:", target):
        return match[0]
    page_path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    pages = {source: page for page, source in COPIED.items()}
    there = pages.get(page_path) or pages.get(f"{page_path}/README.md")
    if there is None and page_path.startswith("docs/"):
        there = page_path.removeprefix("docs/")
    if there is None:
        if not (ROOT / page_path).exists():
            return match[0]  # mkdocs reports it
        return text if text.startswith("`") else f"`{page_path}`"
    return f"{image}[{text}]({os.path.relpath(there, posixpath.dirname(path) or '.')}{anchor})"
