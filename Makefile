# make demo    install, train on the phrasebook, export, translate
# make test    install, run every test but the notebooks
# make notebooks  run every notebook
# make lint    check style and types
# make docs    build the guide and the reference into site/
# make gallery draw the pictures of the guide with the run of the demo
# make format  put the code in order
# make clean   remove what was installed and built
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RECIPE := training/recipes/phrasebook-en-es.yaml
RUN := runs/phrasebook-en-es
TIRED := "The animal did not cross the street because it was too tired."
WIDE := "The animal did not cross the street because it was too wide."
PAIR := $(TIRED) $(WIDE)

.PHONY: demo test notebooks lint docs gallery format clean

demo: $(VENV)/installed
	$(BIN)/python -m training $(RECIPE) overwrite=true
	$(BIN)/python -m export $(RUN)
	printf '%s\n' $(PAIR) | $(BIN)/tfxformer translate $(RUN)
	$(BIN)/tfxformer attention $(RUN) $(TIRED) --out $(RUN)/attention.html

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

notebooks: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m notebook tests/test_notebooks.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed-docs
	PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

gallery: $(VENV)/installed
	$(BIN)/tfxformer attention $(RUN) $(TIRED) --kind encoder --words \
	    --layers 2 --heads 1 2 --out docs/gallery/attention.png
	$(BIN)/python -c 'import tfxformer; \
	    tfxformer.position_figure().savefig("docs/gallery/positions.png")'

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/installed: setup.cfg constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt \
	    --editable '.[training]'
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt \
	    --editable '.[training,dev]'
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt \
	    --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist site *.egg-info
