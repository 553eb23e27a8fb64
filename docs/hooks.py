"""What `make docs` adds: the notebooks, their formulas, call arguments."""

import html
import re
from pathlib import Path

import griffe
from latex2mathml.converter import convert
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File


class CallArguments(griffe.Extension):
    """Shows the section "Call arguments" of Keras as a list of arguments."""

    def on_instance(self, *, obj, **kwargs):
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                "^Call arguments:$",
                "Args: Call arguments",
                obj.docstring.value,
                flags=re.MULTILINE,
            )


ROOT = Path(__file__).parents[1]

# Code and pictures are left alone; a formula stands between dollars.
PARTS = re.compile(
    r"(?P<other><(?P<tag>pre|code|script|style|svg)\b.*?</(?P=tag)>)"
    r"|\$\$(?P<block>[^$]+)\$\$|\$(?P<inline>[^$\n]+)\$",
    re.DOTALL,
)


@event_priority(100)  # before notebooks become pages
def on_files(files, config):
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        files.append(
            File(
                f"notebooks/{path.name}",
                str(ROOT),
                config.site_dir,
                config.use_directory_urls,
            )
        )
    return files


def on_page_content(content, page, config, files):
    if page.file.src_uri.endswith(".ipynb"):
        return PARTS.sub(_formula, content)
    return content


def _formula(match):
    if match["other"]:
        return match["other"]
    display = "block" if match["block"] else "inline"
    return convert(html.unescape(match[display]), display=display)
