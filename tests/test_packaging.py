"""What is shipped, and what the README says, holds."""

import re
import shlex
import zipfile

import pytest
import yaml
from conftest import ROOT, command

import tfxformer
from training.config import read_recipe

README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = README + "".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md"))
)


def blocks(language, text=GUIDE):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_wheel_holds_the_library_alone(tmp_path):
    process = command(
        "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--wheel-dir", tmp_path, ROOT,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith("METADATA"))
        text = archive.read(metadata).decode()
    folders = {name.split("/")[0] for name in names}
    assert {name for name in folders if "dist-info" not in name} == {
        "tfxformer"
    }
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tfxformer").rglob("*.py")
    }
    assert "tfxformer/decoding/__init__.py" in modules
    assert modules <= set(names)
    assert "Requires-Dist: tqdm" in text
    assert "License-Expression: Apache-2.0" in text or (
        "License: Apache-2.0" in text
    )


@pytest.mark.parametrize("snippet", blocks("python"))
def test_the_snippets_run(snippet, run_folder, tmp_path, monkeypatch):
    if "import ray" in snippet or "from ray" in snippet:
        compile(snippet, "guide", "exec")
        pytest.importorskip("ray")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "phrasebook-en-es").symlink_to(run_folder)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "guide", "exec"), {})


def test_the_recipe_in_the_guide_is_valid(tmp_path):
    (text,) = (text for text in blocks("yaml") if text.startswith("name:"))
    path = tmp_path / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    recipe = read_recipe(str(path))
    assert recipe.name == yaml.safe_load(text)["name"]


def test_the_readme_shows_the_commands_of_make():
    makefile = (ROOT / "Makefile").read_text()
    variables = dict(re.findall(r"^(\w+) :?\??= (.*)$", makefile, re.MULTILINE))

    def expand(text):
        while "$(" in text:
            text = re.sub(r"\$\((\w+)\)", lambda m: variables[m[1]], text)
        return " ".join(text.replace("\\\n", " ").split())

    recipes = re.findall(r"^\t((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    ours = [
        line.removeprefix("$ ")
        for block in blocks("console", README)
        for line in block.splitlines()
    ]
    ours = [line for line in ours if line.startswith((".venv", "python3"))]
    assert len(ours) == 6
    for line in ours:
        words = set(shlex.split(line))
        assert any(words <= set(shlex.split(expand(r))) for r in recipes), line


def test_ci_runs_make_test():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert "`make test`" in README


def test_every_public_name_is_in_the_reference():
    pages = "".join(
        path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md")
    )
    for name in set(tfxformer.__all__) - {"__version__"}:
        module = tfxformer._MODULE_OF_NAME[name]
        assert f"::: tfxformer.{module}" in pages, name
