from __future__ import annotations

from pathlib import Path

import datasets
import pytest

from eccdata.dataset import open_dataset
from eccdata.errors import EccdataError


def nothing_of_the_hub(*_: object, **__: object) -> list[str]:
    pytest.fail("the Hub was asked")


def test_a_bare_name_is_a_folder_and_never_asked_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets, "get_dataset_config_names", nothing_of_the_hub)
    with pytest.raises(
        EccdataError, match=r"There is no folder nothere\. Give a release's folder or a Hub id"
    ):
        open_dataset("nothere")
    (tmp_path / "release").mkdir()
    with pytest.raises(EccdataError, match=r"There is no folder releas\. Did you mean release\?"):
        open_dataset("releas")
    with pytest.raises(EccdataError, match=r"Did you mean .*release\?"):
        open_dataset(tmp_path / "relase")


@pytest.mark.parametrize(
    "failure", [ConnectionError("no network"), datasets.exceptions.DatasetNotFoundError("no such dataset")]
)
def test_a_name_that_may_be_either_is_told_as_both(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> list[str]:
        raise failure

    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo" / "release").mkdir(parents=True)
    monkeypatch.setattr(datasets, "get_dataset_config_names", fail)
    with pytest.raises(EccdataError, match="whichever way it is meant") as caught:
        open_dataset("demo/releas")
    assert "there is no folder demo/releas. Did you mean demo/release?" in str(caught.value)
    assert "as a dataset on the Hub: " in str(caught.value)
    assert str(failure) in str(caught.value)
