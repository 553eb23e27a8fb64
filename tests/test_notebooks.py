"""The notebooks run from top to bottom, and are committed as they ran."""

import ast
import shutil

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

import tfxformer

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

each_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: path.stem
)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def python_source(cells):
    """The code of cells without IPython's own lines."""
    lines = "\n".join(cell.source for cell in cells).split("\n")
    return "\n".join(line for line in lines if line[:1] not in ("%", "!"))


@pytest.mark.notebook
@each_notebook
def test_every_cell_runs(path, tmp_path, monkeypatch, request):
    # As in a checkout, but what a notebook writes lands beside the copy.
    folder = shutil.copytree(path.parent, tmp_path / "notebooks")
    for name in ("tfxformer", "training", "export"):
        (tmp_path / name).symlink_to(ROOT / name)
    notebook = nbformat.read(folder / path.name, as_version=4)
    if "TFXFORMER_RUN" in python_source(code_cells(notebook)):
        run_folder = request.getfixturevalue("run_folder")
        monkeypatch.setenv("TFXFORMER_RUN", str(run_folder))
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()  # raises what a cell raises
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


@each_notebook
def test_is_committed_as_it_ran(path):
    cells = code_cells(nbformat.read(path, as_version=4))
    counts = [cell.execution_count for cell in cells]
    assert counts == list(range(1, len(counts) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    assert not [o for o in outputs if o.output_type == "error"]
    assert not [o for o in outputs if o.get("name") == "stderr"]


@each_notebook
def test_defines_nothing_that_the_library_has(path):
    cells = code_cells(nbformat.read(path, as_version=4))
    tree = ast.parse(python_source(cells))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    assert not defined & set(tfxformer.__all__)


def test_there_are_notebooks():
    assert NOTEBOOKS
