"""A stand-in for the Hugging Face Hub on loopback: repositories of datasets in memory, commits, tags, LFS.

It speaks as much of the Hub's HTTP interface as `huggingface_hub` and `datasets` use for a release, checks what the
Hub checks (tokens, write access, the parent of a commit, uploaded objects), and keeps a log of requests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LFS_SUFFIXES = (".parquet",)


@dataclass
class Repo:
    """One repository: commits by id, each a mapping of path to bytes, and the refs that point at them."""

    private: bool = False
    gated: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.branches["main"] = self.commit({".gitattributes": b"*.parquet filter=lfs\n"}, "initial commit")

    def commit(self, tree: dict[str, bytes], message: str) -> str:
        oid = hashlib.sha1(f"{len(self.commits)} {message} {sorted(tree)}".encode()).hexdigest()
        self.commits[oid] = dict(tree)
        self.messages[oid] = message
        return oid

    def resolve(self, revision: str) -> str | None:
        for refs in (self.branches, self.tags, self.pulls):
            if revision in refs:
                return refs[revision]
        return revision if revision in self.commits else None


@dataclass
class Hub:
    """The state of the stand-in.

    Attributes:
        url: Its address, for HF_ENDPOINT.
        repos: Repositories by id.
        tokens: Access tokens and whether each may write.
        objects: Uploaded LFS objects by SHA-256.
        log: Method and path of every request.
        before_commit: Called before a commit is looked at, for what somebody else does meanwhile.
        refuse: Path suffix → HTTP status that a request for it gets.
    """

    url: str = ""
    repos: dict[str, Repo] = field(default_factory=dict)
    tokens: dict[str, bool] = field(default_factory=lambda: {"hf_writer": True, "hf_reader": False})
    objects: dict[str, bytes] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    before_commit: Callable[[], None] | None = None
    refuse: dict[str, int] = field(default_factory=dict)

    def environment(self, home: str, token: str | None = "hf_writer") -> dict[str, str]:
        """Environment of a process that takes this for the Hub."""
        variables = {"HF_ENDPOINT": self.url, "HF_HUB_DISABLE_XET": "1", "HF_HOME": home}
        variables["HF_HUB_DISABLE_TELEMETRY"] = variables["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
        return variables | ({"HF_TOKEN": token} if token is not None else {})


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Serve a hub on loopback until the block ends."""
    hub = Hub()

    class Handler(_Handler):
        state = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Refused(Exception):
    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class _Handler(BaseHTTPRequestHandler):
    state: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815

    def _answer(self) -> None:
        self.address = urlsplit(self.path)
        self.wanted = unquote(self.address.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.state.log.append(f"{self.command} {self.wanted}")
        try:
            for suffix, status in self.state.refuse.items():
                if self.wanted.endswith(suffix):
                    raise _Refused(status, "refused by the test")
            for pattern, methods, act in _ROUTES:
                found = re.fullmatch(pattern, self.wanted)
                if found and self.command in methods:
                    act(self, body, **found.groupdict())
                    return
            raise _Refused(404, f"no such route: {self.command} {self.wanted}")
        except _Refused as refused:
            self._send(refused.status, json.dumps({"error": refused.message}).encode(), code=refused.code)

    def _send(self, status: int, body: bytes = b"", code: str = "", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("X-Error-Code", code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), Content_Type="application/json")

    @property
    def token(self) -> str | None:
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return token if kind == "Bearer" else None

    def _repo(self, repo: str, *, write: bool = False) -> Repo:
        found = self.state.repos.get(repo)
        if self.token is not None and self.token not in self.state.tokens:
            raise _Refused(401, "Invalid credentials in Authorization header")
        if found is None or (found.private and self.token is None):
            raise _Refused(404 if self.token else 401, "Repository not found", "RepoNotFound")
        if found.gated and self.token != "hf_writer":
            raise _Refused(403, "Access to this repository is restricted", "GatedRepo")
        if write and not self.state.tokens.get(self.token or "", False):
            raise _Refused(403, "You don't have the rights to write to this repository")
        return found

    def _revision(self, repo: Repo, revision: str) -> str:
        found = repo.resolve(revision)
        if found is None:
            raise _Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found

    def whoami(self, body: bytes) -> None:
        if self.token not in self.state.tokens:
            raise _Refused(401, "Invalid user token.")
        self._json({"name": "somebody", "type": "user", "auth": {}, "orgs": []})

    def validate(self, body: bytes) -> None:
        self._json({"errors": [], "warnings": []})

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        repo = f"{asked.get('organization') or 'somebody'}/{asked['name']}"
        if not self.state.tokens.get(self.token or "", False):
            raise _Refused(403, f"You don't have the rights to create a dataset under {repo.split('/')[0]}")
        if repo in self.state.repos:
            told = {
                "error": "You already created this dataset repo",
                "url": f"{self.state.url}/datasets/{repo}",
            }
            self._send(409, json.dumps(told).encode())
            return
        self.state.repos[repo] = Repo(private=asked.get("visibility") == "private")
        self._json({"url": f"{self.state.url}/datasets/{repo}"})

    def info(self, body: bytes, repo: str, revision: str | None) -> None:
        found = self._repo(repo)
        oid = self._revision(found, revision or "main")
        siblings = [{"rfilename": path} for path in found.commits[oid]]
        self._json(
            {
                "_id": "0",
                "id": repo,
                "sha": oid,
                "private": found.private,
                "gated": found.gated,
                "disabled": False,
                "tags": [],
                "siblings": siblings,
                "downloads": 0,
                "likes": 0,
            }
        )

    def refs(self, body: bytes, repo: str) -> None:
        found = self._repo(repo)

        def listed(kind: str, refs: dict[str, str]) -> list[dict[str, str]]:
            return [{"name": n, "ref": f"refs/{kind}/{n}", "targetCommit": oid} for n, oid in refs.items()]

        self._json(
            {"branches": listed("heads", found.branches), "converts": [], "tags": listed("tags", found.tags)}
        )

    def tree(self, body: bytes, repo: str, revision: str, folder: str | None) -> None:
        found = self._repo(repo)
        files = found.commits[self._revision(found, revision)]
        prefix = f"{folder}/" if folder else ""
        inside = {path: data for path, data in files.items() if path.startswith(prefix)}
        if folder and not inside:
            raise _Refused(404, f"{folder} does not exist", "EntryNotFound")
        deep = parse_qs(self.address.query).get("recursive", ["false"])[0].lower() in ("true", "1")
        folders = {
            prefix + "/".join(path.removeprefix(prefix).split("/")[:depth])
            for path in inside
            for depth in range(1, path.removeprefix(prefix).count("/") + 1)
        }
        entries = [
            {"type": "directory", "path": path, "oid": "0" * 40, "size": 0} for path in sorted(folders)
        ]
        entries += [_entry(path, data) for path, data in inside.items()]
        if not deep:
            entries = [entry for entry in entries if "/" not in str(entry["path"]).removeprefix(prefix)]
        self._json(entries)

    def paths(self, body: bytes, repo: str, revision: str) -> None:
        found = self._repo(repo)
        files = found.commits[self._revision(found, revision)]
        if self.headers.get("Content-Type", "").startswith("application/json"):
            asked = json.loads(body)["paths"]
        else:
            asked = parse_qs(body.decode())["paths"]
        entries: list[Any] = []
        for path in [asked] if isinstance(asked, str) else asked:
            if path in files:
                entries.append(_entry(path, files[path]))
            elif any(name.startswith(f"{path.rstrip('/')}/") for name in files) or not path:
                entries.append({"type": "directory", "path": path, "oid": "0" * 40, "size": 0})
        self._json(entries)

    def preupload(self, body: bytes, repo: str, revision: str) -> None:
        self._repo(repo, write=True)
        asked = json.loads(body)["files"]
        self._json(
            {
                "files": [
                    {
                        "path": entry["path"],
                        "uploadMode": "lfs" if entry["path"].endswith(LFS_SUFFIXES) else "regular",
                        "shouldIgnore": False,
                    }
                    for entry in asked
                ]
            }
        )

    def batch(self, body: bytes, repo: str) -> None:
        self._repo(repo, write=True)
        answers = []
        for entry in json.loads(body)["objects"]:
            answer = {"oid": entry["oid"], "size": entry["size"]}
            if entry["oid"] not in self.state.objects:
                href = f"{self.state.url}/lfs/{entry['oid']}"
                answer["actions"] = {"upload": {"href": href}}
            answers.append(answer)
        self._json({"transfer": "basic", "objects": answers})

    def upload(self, body: bytes, oid: str) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            raise _Refused(400, "the object is not what its id says")
        self.state.objects[oid] = body
        self._send(200)

    def commit(self, body: bytes, repo: str, revision: str) -> None:
        found = self._repo(repo, write=True)
        if self.state.before_commit is not None:
            self.state.before_commit()
        head = self._revision(found, revision)
        lines = [json.loads(line) for line in body.splitlines() if line]
        header = lines[0]["value"]
        pull = "create_pr" in parse_qs(self.address.query)
        parent = header.get("parentCommit")
        if parent is not None and parent != head and not pull:
            raise _Refused(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(found.commits[parent if pull and parent else head])
        for line in lines[1:]:
            path = line["value"]["path"]
            if line["key"] == "file":
                tree[path] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "lfsFile":
                if line["value"]["oid"] not in self.state.objects:
                    raise _Refused(400, f"no such LFS object: {path}")
                tree[path] = self.state.objects[line["value"]["oid"]]
            elif line["key"] == "deletedFile":
                del tree[path]
        oid = found.commit(tree, header["summary"])
        answer = {"commitUrl": f"{self.state.url}/datasets/{repo}/commit/{oid}", "commitOid": oid}
        if pull:
            number = len(found.pulls) + 1
            found.pulls[f"refs/pr/{number}"] = oid
            answer["pullRequestUrl"] = f"{self.state.url}/datasets/{repo}/discussions/{number}"
        else:
            found.branches[revision] = oid
        self._json(answer)

    def tag(self, body: bytes, repo: str, revision: str) -> None:
        found = self._repo(repo, write=True)
        name = json.loads(body)["tag"]
        if name in found.tags:
            raise _Refused(409, f"Tag {name} already exists")
        found.tags[name] = self._revision(found, revision)
        self._json({})

    def branch(self, body: bytes, repo: str, name: str) -> None:
        found = self._repo(repo, write=True)
        if name in found.branches:
            raise _Refused(409, f"Branch {name} already exists")
        start = json.loads(body or b"{}").get("startingPoint") or "main"
        found.branches[name] = self._revision(found, start)
        self._json({})

    def file(self, body: bytes, repo: str, revision: str, path: str) -> None:
        found = self._repo(repo)
        oid = self._revision(found, revision)
        data = found.commits[oid].get(path)
        if data is None:
            raise _Refused(404, "Entry not found", "EntryNotFound")
        etag = f'"{hashlib.sha256(data).hexdigest()}"'
        headers = {"ETag": etag, "X_Repo_Commit": oid, "Accept_Ranges": "bytes"}
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked:
            start, stop = int(asked[1]), int(asked[2] or len(data) - 1)
            headers["Content_Range"] = f"bytes {start}-{min(stop, len(data) - 1)}/{len(data)}"
            self._send(206, data[start : stop + 1], **headers)
        else:
            self._send(200, data, **headers)


def _entry(path: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    entry = {"type": "file", "path": path, "oid": digest[:40], "size": len(data)}
    if path.endswith(LFS_SUFFIXES):
        entry["lfs"] = {"oid": digest, "size": len(data), "pointerSize": 134}
    return entry


_ID = r"(?P<repo>[^/]+/[^/]+)"
_API = rf"/api/datasets/{_ID}"
_REVISION = r"(?P<revision>refs/pr/\d+|[^/]+)"
_ROUTES: tuple[tuple[str, tuple[str, ...], Callable[..., None]], ...] = (
    (r"/api/whoami-v2", ("GET",), _Handler.whoami),
    (r"/api/validate-yaml", ("POST",), _Handler.validate),
    (r"/api/repos/create", ("POST",), _Handler.create),
    (rf"{_API}(?:/revision/{_REVISION})?", ("GET",), _Handler.info),
    (rf"{_API}/refs", ("GET",), _Handler.refs),
    (rf"{_API}/tree/{_REVISION}(?:/(?P<folder>.+))?", ("GET",), _Handler.tree),
    (rf"{_API}/paths-info/{_REVISION}", ("POST",), _Handler.paths),
    (rf"{_API}/preupload/{_REVISION}", ("POST",), _Handler.preupload),
    (rf"{_API}/commit/{_REVISION}", ("POST",), _Handler.commit),
    (rf"{_API}/tag/{_REVISION}", ("POST",), _Handler.tag),
    (rf"{_API}/branch/(?P<name>[^/]+)", ("POST",), _Handler.branch),
    (rf"/datasets/{_ID}\.git/info/lfs/objects/batch", ("POST",), _Handler.batch),
    (r"/lfs/(?P<oid>[0-9a-f]{64})", ("PUT",), _Handler.upload),
    (rf"/datasets/{_ID}/resolve/{_REVISION}/(?P<path>.+)", ("GET", "HEAD"), _Handler.file),
)
