"""What stands beside the package: its page, how to cite it, the recipe for conda, the forms of issues."""
from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import sdfgad
from sdfgad.codegen.devices import WHEELS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BY_PIP = {"dace", "scipy-openblas32"}


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("sdfgad_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page


def test_links_of_the_package_page_are_absolute(page):
    readme = (ROOT / "README.md").read_text()
    links = re.compile(r"\]\(([^)]+)\)")
    assert "docs/npbench.md" in links.findall(readme)
    assert all(place.startswith("https://") for place in links.findall(page(readme, "https://example.org/sdfgad/")))
    assert all(place.startswith("https://") for place in links.findall(page(readme, "")))


def test_what_becomes_of_a_link(page):
    text = "[a](docs/a.md), ![b](b.svg), [c](https://c), [d](#d)"
    assert page(text, "https://h/") == "[a](https://h/docs/a.md), ![b](https://h/b.svg), [c](https://c), [d](#d)"
    assert page(text, "") == "a, , [c](https://c), [d](#d)"


def test_the_citation_is_of_this_release():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == sdfgad.__version__ and cited["license"] == PROJECT["license"]


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    assert f'version = "{sdfgad.__version__}"' in recipe
    asked = set(re.findall(r"^    - (\S+ [<>=].*)$", recipe.split("run:")[1].split("test:")[0], re.MULTILINE))
    names = {re.sub(r"([<>=])", r" \1", d, count=1) for d in PROJECT["dependencies"]
             if re.split("[<>=]", d)[0] not in BY_PIP}
    assert asked == names | {f"python {PROJECT['requires-python']}"}


def test_every_dependency_has_an_upper_bound():
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["scipy"], *extras["torch"], *extras["jax"]]
    assert [d for d in asked if "<" not in d and "==" not in d] == []


@pytest.mark.parametrize("form", sorted(p.name for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")))
def test_forms_of_issues(form):
    found = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / form).read_text())
    assert form == "config.yml" or {"name", "description", "body"} <= found.keys()


def test_the_extra_for_devices_has_all_that_the_compiler_needs():
    assert {re.split("[<>=]", d)[0] for d in PROJECT["optional-dependencies"]["gpu"]} >= set(WHEELS)
