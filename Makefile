.PHONY: help dev format lint test test-slow test-gpu coverage proof generate docs examples site bench paper files

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
dev:  ## install for development, with the tested versions
	pip install -c constraints.txt -e '.[dev]'
format:  ## ruff: sort imports, fix what it can, format
	ruff check --fix && ruff format
lint:  ## ruff and mypy
	ruff check && ruff format --check && mypy
test:  ## every test but the slow ones
	python -m pytest
test-slow:  ## those as well, and laws on more examples
	python -m pytest --slow
test-gpu:  ## the same suite on the first CUDA device
	python -m pytest --device cuda
coverage:  ## every test, and the lines of gnc_cli that none of them runs
	python -m pytest --cov=gnc_cli --cov-report=term-missing:skip-covered
proof:  ## check the proof of rho* = 1 - t* (needs Coq)
	proofs/check.sh
	proofs/check_fails.sh
generate:  ## write what is generated from the program: promises, tables of options and keys
	python -m tests.test_promises && python -m tests.reference
docs:  ## write what the commands print today into README and the pages
	python -m tests.documents
examples:  ## run the notebooks in examples/ and keep what they print
	python -m tests.examples
site:  ## build the documentation into build/site
	sphinx-build -q -W --keep-going -b html docs build/site
bench:  ## measure quality and time (long; can be resumed)
	python -m benchmarks
paper:  ## the paper's figures on real images (hours; can be resumed; FONTS=DIR)
	python -m benchmarks.training.paper run $(if $(FONTS),--fonts $(FONTS)) && python -m benchmarks.training.paper report
paper-%:  ## one of them: paper-4, paper-b1
	python -m benchmarks.training.paper run $* $(if $(FONTS),--fonts $(FONTS)) && python -m benchmarks.training.paper report
files:  ## workflows, action and settings of services against their schemas (needs check-jsonschema)
	check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	check-jsonschema --builtin-schema vendor.github-actions action.yml
	check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
