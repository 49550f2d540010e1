from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from eccdata import EccdataError
from eccdata.release import Release, push, pushing
from support import forge, toy
from support.hub import Hub, Repo, running_hub

Make = Callable[..., Release]
REPO = "somebody/toybench"
TREE = "data/digits/test-00000-of-00001.parquet"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A stand-in for the Hub, which `push` in this process takes for the real one."""
    with running_hub() as running:
        constants = huggingface_hub.constants
        monkeypatch.setattr(constants, "ENDPOINT", running.url)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
        monkeypatch.setattr(pushing, "HfApi", partial(huggingface_hub.HfApi, endpoint=running.url))
        monkeypatch.setenv("HF_TOKEN", "hf_writer")
        yield running


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def commits(hub: Hub) -> int:
    return sum(" /api/datasets" in line and "/commit/" in line for line in hub.log)


def test_a_release_goes_in_one_commit_and_gets_its_tag(make: Make, hub: Hub) -> None:
    release = make()
    pushed = push(release.path, repo_id=REPO, tag="v1", private=True)
    repo = hub.repos[REPO]
    assert repo.private
    assert commits(hub) == 1
    assert len(repo.commits) == 2
    tree = repo.commits[repo.branches["main"]]
    assert {k: v for k, v in tree.items() if k != ".gitattributes"} == files(release.path)
    assert repo.tags == {"v1": repo.branches["main"]}
    assert (pushed.commit, pushed.dry_run) == (repo.branches["main"], False)
    assert f"{REPO}: 16 files" in str(pushed)
    assert "tag v1" in str(pushed)
    assert repo.messages[repo.branches["main"]] == "toybench: digits 1.2.3, list 1.2.3 (seed 0)"


def test_a_newer_release_removes_what_is_left_of_the_older(make: Make, hub: Hub) -> None:
    push(make("one", settings={"lengths": (8, 16, 32)}).path, repo_id=REPO)
    repo = hub.repos[REPO]
    first = repo.branches["main"]
    repo.branches["main"] = repo.commit(repo.commits[first] | {"paper.pdf": b"%PDF"}, "by hand")
    new = make("two", settings={"lengths": (8,)})
    pushed = push(new.path, repo_id=REPO)
    tree = repo.commits[repo.branches["main"]]
    assert tree.keys() - files(new.path).keys() == {".gitattributes", "paper.pdf"}
    assert "manifests/digits/test/length-32/manifest.json" in pushed.deleted
    assert TREE.replace("of-00001", "of-00002") in pushed.deleted


def test_a_dry_run_lists_files_and_sends_nothing(
    make: Make, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    release = make(configs=["digits"])
    would = push(release.path, repo_id=REPO, dry_run=True)
    assert would.files == {name: len(data) for name, data in files(release.path).items()}
    assert "Nothing was sent." in str(would)
    assert TREE in str(would)
    assert hub.log == []


def test_a_pull_request_leaves_the_branch_alone(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = Repo()
    before = hub.repos[REPO].branches["main"]
    pushed = push(make().path, repo_id=REPO, create_pr=True)
    assert hub.repos[REPO].branches["main"] == before
    assert TREE in hub.repos[REPO].commits[hub.repos[REPO].pulls["refs/pr/1"]]
    assert pushed.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    with pytest.raises(EccdataError, match="cannot be tagged"):
        push(make("other").path, repo_id=REPO, create_pr=True, tag="v1")


def test_another_branch_is_made_where_it_is_not_there(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = Repo()
    push(make().path, repo_id=REPO, branch="next")
    assert TREE in hub.repos[REPO].commits[hub.repos[REPO].branches["next"]]
    assert TREE not in hub.repos[REPO].commits[hub.repos[REPO].branches["main"]]


def refused(make: Make, **arguments: Any) -> str:
    with pytest.raises(EccdataError) as error:
        push(make().path, **{"repo_id": REPO, **arguments})
    return str(error.value)


def test_a_release_with_a_link_out_of_it_is_not_pushed(make: Make, hub: Hub, tmp_path: Path) -> None:
    release = make()
    (release.path / TREE).rename(tmp_path / "elsewhere")
    (release.path / TREE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EccdataError, match=f"(?s)is not pushed.*{TREE}: a link to"):
        push(release.path, repo_id=REPO)
    assert not hub.repos


def test_a_release_with_problems_is_not_pushed(make: Make, hub: Hub) -> None:
    release = make()
    forge.flip_bit(release.path / TREE)
    with pytest.raises(EccdataError, match="is not pushed, since it has problems"):
        push(release.path, repo_id=REPO)
    assert hub.log == []


def test_a_commit_in_between_stops_it(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = repo = Repo()

    def meanwhile() -> None:
        repo.branches["main"] = repo.commit({"theirs": b""}, "somebody else")

    hub.before_commit = meanwhile
    assert "changed: branch main no longer stands" in refused(make, tag="v1")
    assert repo.commits[repo.branches["main"]] == {"theirs": b""}
    assert repo.tags == {}


def test_a_parent_that_is_not_the_head_stops_it(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = repo = Repo()
    old = repo.branches["main"]
    repo.branches["main"] = head = repo.commit({"theirs": b""}, "somebody else")
    assert "no longer stands" in refused(make, parent_commit=old)
    assert repo.branches["main"] == head
    with pytest.raises(EccdataError, match="not a valid commit OID"):
        push(make("other").path, repo_id=REPO, parent_commit="yesterday")
    assert push(make("third").path, repo_id=REPO, parent_commit=head).commit == repo.branches["main"]


def test_a_tag_that_is_there_stops_it_before_anything_is_sent(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = repo = Repo()
    repo.tags["v1"] = repo.branches["main"]
    assert "has a tag v1 already" in refused(make, tag="v1")
    assert len(repo.commits) == 1
    assert hub.objects == {}


def test_no_token(make: Make, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert "no access token" in refused(make)


def test_a_token_that_is_none(make: Make, hub: Hub) -> None:
    assert "does not accept the access token" in refused(make, token="hf_nobody")


def test_a_token_that_may_only_read(make: Make, hub: Hub) -> None:
    said = refused(make, token="hf_reader")
    assert f"may not write to {REPO}" in said
    hub.repos[REPO] = Repo()
    with pytest.raises(EccdataError, match="Use one with write access"):
        push(make("other").path, repo_id=REPO, token="hf_reader")
    assert len(hub.repos[REPO].commits) == 1


def test_a_gated_repository(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = Repo(gated=True)
    hub.tokens["hf_other"] = True
    assert f"{REPO} is gated" in refused(make, token="hf_other")


def test_a_name_that_is_no_id(make: Make, hub: Hub) -> None:
    assert "is no id of a dataset" in refused(make, repo_id="a/b/c")


def test_a_refused_upload_leaves_no_commit(make: Make, hub: Hub) -> None:
    hub.refuse["/objects/batch"] = 400
    assert "HTTP 400" in refused(make)
    assert commits(hub) == 0


def test_a_tag_that_cannot_be_set_is_told_with_the_commit(make: Make, hub: Hub) -> None:
    hub.repos[REPO] = repo = Repo()
    hub.before_commit = lambda: repo.tags.update(v1="taken meanwhile")
    said = refused(make, tag="v1")
    assert "the tag v1 was not set" in said
    assert f"hf repos tag create {REPO} v1 --revision {repo.branches['main']}" in said
    assert TREE in repo.commits[repo.branches["main"]]


def test_the_hub_out_of_reach(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "HfApi", partial(huggingface_hub.HfApi, endpoint="http://127.0.0.1:9"))
    assert "cannot be reached" in refused(make, token="hf_writer")


def test_what_may_not_be_redistributed_never_leaves(
    make: Make, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toy.install(monkeypatch, tmp_path, "digits", "secret")
    release = make(configs=["digits", "secret"])
    for dry_run in (False, True):
        with pytest.raises(EccdataError, match="secret: redistribution is forbidden"):
            push(release.path, repo_id=REPO, dry_run=dry_run)
    assert hub.log == []
    push(make("public", configs=["digits"]).path, repo_id=REPO)


def test_annotations_may_go_and_media_may_not(make: Make, hub: Hub, tmp_path: Path) -> None:
    import datasets
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = datasets.Features({"id": datasets.Value("string"), "clips": datasets.List(datasets.Video())})
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": [], "clips": []}, schema=features.arrow_schema), path)
    assert pushing._media(path) == ["clips"]
    assert pushing._media(make().path / TREE) == []


LOAD = """
import json, sys
from datasets import load_dataset
repo = sys.argv[1]
found = {}
for tag in ("v1", "v2"):
    found[tag] = list(load_dataset(repo, "digits", split="test", revision=tag))
    streamed = list(load_dataset(repo, "digits", split="test", revision=tag, streaming=True))
    assert streamed == found[tag]
print(json.dumps(found))
assert "eccdata" not in sys.modules
"""


def test_what_was_pushed_loads_by_revision_in_a_process_that_knows_nothing(
    make: Make, hub: Hub, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    expected = {}
    for seed, tag in ((0, "v1"), (1, "v2")):
        release = make(configs=["digits"], seed=seed, force=True)
        push(release.path, repo_id=REPO, tag=tag)
        expected[tag] = pq.read_table(release.path / TREE).to_pylist()
    done = subprocess.run(
        [sys.executable, "-c", LOAD, REPO],
        env={**os.environ, **hub.environment(str(tmp_path / "home"))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def test_the_token_is_written_nowhere(make: Make, hub: Hub, tmp_path: Path) -> None:
    hub.tokens["hf_secret"] = True
    pushed = push(make().path, repo_id=REPO, token="hf_secret")
    assert "hf_secret" not in repr(pushed)
    written = [p for p in tmp_path.rglob("*") if p.is_file() and b"hf_secret" in p.read_bytes()]
    assert written == []
