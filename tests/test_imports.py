"""Tests of who imports whom."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tfxformer

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    path
    for folder in ("tfxformer", "training", "export")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
MODULES = sorted(
    {path.stem for path in (ROOT / "tfxformer").glob("*.py")} | {"decoding"}
)


def imported_modules(path):
    """Every module a file may import, at its top or in a function."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            modules.add(node.module)
            # `from package import module`
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


def packages(modules):
    return {module.partition(".")[0] for module in modules}


def library_imports(name):
    """Names of the library's modules that one of them imports.

    A package, like `decoding`, is one module.
    """
    imported = {
        module.split(".")[1]
        for path in sources(name)
        for module in imported_modules(path)
        if module.startswith("tfxformer.")
    }
    # Not by the public names, which would hide what is imported.
    assert imported <= {*MODULES, "__version__"}, name
    if (ROOT / "tfxformer" / name).is_dir():
        imported.discard(name)
    return imported & set(MODULES)


def sources(name):
    path = ROOT / "tfxformer" / name
    return sorted(path.glob("*.py")) or [path.with_suffix(".py")]


def reachable(name):
    found, waiting = set(), {name}
    while waiting:
        name = waiting.pop()
        new = library_imports(name) - found
        found |= new
        waiting |= new
    return found


def test_the_scan_sees_imports(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import a.b\nfrom c import d\ndef f():\n    import e\n",
        encoding="utf-8",
    )
    assert imported_modules(path) == {"a.b", "c", "c.d", "e"}
    assert packages(imported_modules(path)) == {"a", "c", "e"}
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_folder_imports_only_itself_and_the_library(path):
    folder = path.relative_to(ROOT).parts[0]
    ours = {"tfxformer", "training", "export", "benchmarks", "tests"}
    allowed = {"tfxformer", folder}
    assert packages(imported_modules(path)) & ours <= allowed


@pytest.mark.parametrize(
    "name, allowed",
    [
        ("masking", set()),
        ("position", set()),
        ("embedding", set()),
        ("presets", set()),
        ("errors", set()),
        ("schedule", set()),
        ("decoding", set()),
        ("alignment", set()),
        ("options", {"errors"}),
        ("lines", {"errors", "tokenizer"}),
        ("attentions", {"alignment", "errors"}),
        (
            "host",
            {
                "alignment",
                "attentions",
                "errors",
                "lines",
                "options",
                "tokenizer",
            },
        ),
        ("projection", set()),
        ("attention", {"masking", "projection"}),
        ("losses", {"masking"}),
        ("metrics", {"losses", "masking"}),
        ("blocks", {"attention", "masking", "normalization", "projection"}),
        (
            "model",
            {
                "attention",
                "blocks",
                "embedding",
                "masking",
                "normalization",
                "position",
                "presets",
                "projection",
            },
        ),
        # Over any model: it imports none.
        ("model_search", {"decoding", "errors", "options"}),
    ],
)
def test_a_module_reaches_only_what_comes_before_it(name, allowed):
    assert reachable(name) <= allowed


def test_no_two_modules_of_the_library_need_each_other():
    assert not [name for name in MODULES if name in reachable(name)]


@pytest.mark.parametrize(
    "start", ["alignment", "options", "lines", "host", "lite", "cli"]
)
def test_a_light_module_reaches_neither_tensorflow_nor_keras(start):
    # The command imports what is heavy in a function, for other formats.
    modules = {start, *reachable(start)} if start != "cli" else {start}
    for path in [path for name in modules for path in sources(name)]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        at_top = {
            alias.name if isinstance(node, ast.Import) else node.module
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        heavy = {"tensorflow", "tensorflow_text", "keras", "keras_nlp"}
        assert not packages(at_top) & heavy, path


@pytest.mark.parametrize(
    "module",
    ["tfxformer", "tfxformer.lite", "tfxformer.loading", "tfxformer.cli"],
)
def test_a_light_import_stays_light(module):
    code = f"import {module}, sys; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = packages(process.stdout.split())
    assert "tfxformer" in loaded
    assert not loaded & {"tensorflow", "keras", "tensorflow_text", "keras_nlp"}


@pytest.mark.parametrize("name", tfxformer.__all__)
def test_every_public_name_resolves(name):
    value = getattr(tfxformer, name)
    assert name in dir(tfxformer)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        module = importlib.import_module(value.__module__)
        assert module.__name__.startswith("tfxformer.")
        assert value.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"no attribute 'Transfomer'$"):
        _ = tfxformer.Transfomer
