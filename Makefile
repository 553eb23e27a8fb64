# make demo    install, train on the phrasebook, export, translate
# make test    install, run every test
# make lint    check style and types
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RECIPE := training/recipes/phrasebook-en-es.yaml
RUN := runs/phrasebook-en-es

.PHONY: demo test lint format clean

demo: $(VENV)/installed
	$(BIN)/python -m training $(RECIPE) overwrite=true
	$(BIN)/python -m export $(RUN)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

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

clean:
	rm -rf $(VENV) build dist *.egg-info
