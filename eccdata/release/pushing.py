"""`eccdata push`: a verified release onto the Hub, as one commit and a tag."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import (  # type: ignore[attr-defined]
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    LocalTokenNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from eccdata.errors import EccdataError, problem
from eccdata.progress import Progress, silent
from eccdata.release.description import Redistribution, read_description
from eccdata.release.layout import DATA, MANIFESTS, files
from eccdata.release.record import Record, read_record
from eccdata.release.verifying import verify

KIND = "dataset"


@dataclass(frozen=True)
class Push:
    """What went to the Hub, or would go.

    Attributes:
        repo_id: The dataset's id.
        branch: The branch.
        tag: The tag that was set.
        files: Size in bytes of every file, by path.
        deleted: Files of an older release that the commit removes.
        commit: The commit's id; None after a dry run.
        url: Where it can be seen: the commit, or the pull request.
        dry_run: Whether nothing was sent.

    """

    repo_id: str
    branch: str
    tag: str | None
    files: dict[str, int]
    deleted: tuple[str, ...]
    commit: str | None
    url: str | None
    dry_run: bool

    def __str__(self) -> str:
        total = f"{len(self.files)} files, {sum(self.files.values()) / 1e6:,.1f} MB"
        if not self.dry_run:
            tag = f", tag {self.tag}" if self.tag else ""
            return f"{self.repo_id}: {total} in one commit{tag}\n  {self.url}"
        lines = [f"{self.repo_id}, branch {self.branch}: {total} would go"]
        lines += [f"  {size:>14,}  {name}" for name, size in self.files.items()]
        return "\n".join([*lines, "Nothing was sent."])


def push(
    path: str | Path,
    *,
    repo_id: str,
    token: str | None = None,
    branch: str | None = None,
    tag: str | None = None,
    private: bool = False,
    create_pr: bool = False,
    parent_commit: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Push:
    """Verify a release and put it on the Hub in one commit; then set the tag.

    The commit is made on the head of the branch as it was found (or on `parent_commit`): if somebody else commits
    meanwhile, nothing changes. Files below `data/` and `manifests/` that the release does not have are removed in the
    same commit, since they are what is left of an older one.

    Args:
        path: The release's folder.
        repo_id: The dataset's id, such as `somebody/eccbench`; it is created where it does not exist.
        token: Access token; by default the one of `hf auth login` or of HF_TOKEN. It is written nowhere.
        branch: The branch; `main` if none.
        tag: Set on the commit, such as `v1.0.0`.
        private: Make the repository private if it is new.
        create_pr: Open a pull request instead of committing to the branch.
        parent_commit: The commit that the branch must stand at.
        dry_run: Verify, and say what would go; nothing is sent and no token is needed.
        progress: Called with steps done, steps in all, and what is being done.

    Raises:
        EccdataError: The release has problems, holds rows that may not be handed on, or the Hub refuses.

    """
    if create_pr and tag is not None:
        raise EccdataError(
            "A pull request's commit cannot be tagged: leave out the tag, and set it after merging."
        )
    folder = Path(path)
    record = read_record(folder)
    _require_redistributable(folder, record)
    found = verify(folder, progress=progress)
    if not found.ok:
        raise problem(f"{folder} is not pushed, since it has problems:", found.problems, "Build it again.")
    sizes = {name: (folder / name).stat().st_size for name in files(folder)}
    target = branch or "main"
    if dry_run:
        return Push(repo_id, target, tag, sizes, (), None, None, dry_run=True)
    tell = progress or silent
    api = HfApi(token=token)
    with _told(repo_id, target):
        api.whoami()
        api.create_repo(repo_id, repo_type=KIND, private=private, exist_ok=True)
        if target != "main":
            api.create_branch(repo_id, repo_type=KIND, branch=target, exist_ok=True)
        head = api.repo_info(repo_id, repo_type=KIND, revision=target).sha
        if tag is not None:
            _require_free(api, repo_id, tag)
        there = api.list_repo_files(repo_id, repo_type=KIND, revision=head)
        stale = tuple(
            sorted(
                name for name in there if name.startswith((f"{DATA}/", f"{MANIFESTS}/")) and name not in sizes
            )
        )
        tell(0, 1, "Uploading")
        commit = api.create_commit(
            repo_id,
            [
                *(CommitOperationAdd(name, folder / name) for name in sizes),
                *(CommitOperationDelete(name) for name in stale),
            ],
            commit_message=_message(record),
            repo_type=KIND,
            # a pull request is opened against a branch, and started from the commit given
            revision=target,
            create_pr=create_pr,
            parent_commit=parent_commit or head,
        )
        tell(1, 1, "Uploading")
    if tag is not None:
        try:
            with _told(repo_id, target):
                api.create_tag(repo_id, repo_type=KIND, tag=tag, revision=commit.oid)
        except EccdataError as error:
            raise EccdataError(
                f"The release is at {commit.commit_url}, but the tag {tag} was not set: {error}\n"
                f"Set it with `hf repos tag create {repo_id} {tag} --revision {commit.oid} --type dataset`."
            ) from error
    url = commit.pr_url if create_pr else commit.commit_url
    return Push(repo_id, target, tag, sizes, stale, commit.oid, url, dry_run=False)


def _require_redistributable(folder: Path, record: Record) -> None:
    terms = read_description(record.benchmark).configs
    wrong = []
    for config, made in record.configs.items():
        said = terms[config].redistribution if config in terms else Redistribution.FORBIDDEN
        if said is Redistribution.FORBIDDEN:
            wrong.append(f"{config}: redistribution is forbidden")
        elif said is Redistribution.ANNOTATIONS_ONLY:
            media = [name for shard in list(made.shards)[:1] for name in _media(folder / shard.path)]
            if media:
                wrong.append(
                    f"{config}: only annotations may be redistributed, and it has {', '.join(media)}"
                )
    if wrong:
        raise problem(
            f"{folder} may not be pushed, by the terms in croissant/{record.benchmark}.yaml:",
            wrong,
            "Build a release without these configurations.",
        )


def _media(path: Path) -> list[str]:
    """Columns that hold pictures, sound, video or other bytes."""
    features = datasets.Features.from_arrow_schema(pq.read_schema(path))
    media = (datasets.Image, datasets.Audio, datasets.Video)

    def holds(feature: Any) -> bool:
        if isinstance(feature, dict):
            return any(holds(inner) for inner in feature.values())
        if isinstance(feature, datasets.List | datasets.LargeList):
            return holds(feature.feature)
        return isinstance(feature, media) or getattr(feature, "dtype", "").endswith("binary")

    return [name for name, feature in features.items() if holds(feature)]


def _require_free(api: HfApi, repo_id: str, tag: str) -> None:
    tags = {ref.name: ref.target_commit for ref in api.list_repo_refs(repo_id, repo_type=KIND).tags}
    if tag in tags:
        raise EccdataError(
            f"{repo_id} has a tag {tag} already, at {tags[tag]}. Tags do not move: choose another."
        )


def _message(record: Record) -> str:
    versions = ", ".join(f"{name} {made.version}" for name, made in record.configs.items())
    return f"{record.benchmark}: {versions} (seed {record.seed})"


@contextmanager
def _told(repo_id: str, branch: str) -> Iterator[None]:
    """Turn what the Hub says into one clear error."""
    try:
        yield
    except LocalTokenNotFoundError as error:
        raise EccdataError(
            "There is no access token for the Hub. Log in with `hf auth login`, or set HF_TOKEN."
        ) from error
    except HFValidationError as error:
        raise EccdataError(f"{repo_id!r} is no id of a dataset on the Hub: {error}") from error
    except GatedRepoError as error:
        raise EccdataError(
            f"{repo_id} is gated, and the token's owner has not been granted access. Ask for it on its page."
        ) from error
    except RevisionNotFoundError as error:
        raise EccdataError(f"{repo_id} has no revision {branch}.") from error
    except RepositoryNotFoundError as error:
        raise EccdataError(
            f"{repo_id} does not exist, or the token's owner may not see it. Check the id and the token."
        ) from error
    except HfHubHTTPError as error:
        raise EccdataError(_said(error, repo_id, branch)) from error
    except (HTTPError, ConnectionError, TimeoutError) as error:
        raise EccdataError(f"The Hub cannot be reached ({error}). Try again when it can.") from error
    except ValueError as error:
        # what huggingface_hub does not send at all, such as a parent that is no commit's id
        raise EccdataError(f"{repo_id}: {error}") from error
    except RuntimeError as error:
        # huggingface_hub wraps whatever ends an upload in a RuntimeError
        raise EccdataError(f"{error} ({error.__cause__}) Nothing was committed; run it again.") from error


def _said(error: HfHubHTTPError, repo_id: str, branch: str) -> str:
    status = error.response.status_code
    if status == 401:
        return "The Hub does not accept the access token. Log in again with `hf auth login`, or set HF_TOKEN."
    if status == 403:
        return (
            f"The token may not write to {repo_id}. Use one with write access, or let somebody push who has it. "
            f"({error.server_message or 'HTTP 403'})"
        )
    if status == 412:
        return (
            f"{repo_id} changed: branch {branch} no longer stands at the commit that this push was to follow. "
            "Nothing was committed. Look at what is new, and run it again."
        )
    return f"The Hub refused: HTTP {status}: {error.server_message or error}"
