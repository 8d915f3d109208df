from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from sandbox.images.context import CA_NAME, archive, read_files
from sandbox.images.plan import RECIPES, Recipe


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "images/one").mkdir(parents=True)
    (tmp_path / "images/one/Dockerfile").write_bytes(b"FROM x\n")
    (tmp_path / "code/deep").mkdir(parents=True)
    (tmp_path / "code/deep/a.py").write_bytes(b"pass\n")
    (tmp_path / "code/left_out.py").write_bytes(b"pass\n")
    return tmp_path


RECIPE = Recipe("one", ("images/one", "code"), excluded=("code/left_out.py",))


def test_every_file_below_the_sources_is_read_but_the_excluded(project: Path) -> None:
    assert read_files(RECIPE, project) == {"images/one/Dockerfile": b"FROM x\n", "code/deep/a.py": b"pass\n"}


def test_what_running_the_tests_leaves_beside_the_sources_changes_nothing(project: Path) -> None:
    before = read_files(RECIPE, project)
    (project / "code/deep/__pycache__").mkdir()
    (project / "code/deep/__pycache__/a.cpython-311.pyc").write_bytes(b"\0")
    assert read_files(RECIPE, project) == before


def test_a_missing_source_is_an_error_and_not_an_empty_image(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="checkout of the project"):
        read_files(RECIPE, tmp_path)


def test_the_archive_is_the_same_bytes_whenever_and_by_whomever_it_is_made(project: Path) -> None:
    one = archive(read_files(RECIPE, project))
    (project / "code/deep/a.py").touch()
    (project / "code/deep/a.py").chmod(0o600)
    assert archive(read_files(RECIPE, project)) == one


def test_the_archive_holds_the_extra_certificates_beside_the_files(project: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive({"a": b"1"}, b"pem"))) as tar:
        held = {name: member.read() for name in tar.getnames() if (member := tar.extractfile(name))}
    assert held == {"a": b"1", CA_NAME: b"pem"}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_every_recipe_of_ours_holds_its_dockerfile(recipe: Recipe) -> None:
    assert recipe.dockerfile in read_files(recipe)


def test_the_egress_image_is_sent_no_code_of_the_service() -> None:
    names = read_files(RECIPES["egress"])
    assert "sandbox/egress/report.py" not in names
    assert {name.split("/")[0] for name in names} == {"images", "sandbox"}
