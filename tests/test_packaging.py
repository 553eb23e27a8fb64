"""What is shipped, and what the README says, holds."""

import re
import shlex
import zipfile

import pytest
import yaml
from conftest import ROOT, command

from training.config import read_recipe

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


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
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "phrasebook-en-es").symlink_to(run_folder)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})


def test_the_recipe_in_the_readme_is_valid(tmp_path):
    (text,) = blocks("yaml")
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
        for block in blocks("console")
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
