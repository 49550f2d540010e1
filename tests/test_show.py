from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from eccdata.contact_sheet import MATCH, NEAR, WRONG
from eccdata.errors import EccdataError
from eccdata.release import Release, build
from eccdata.show import exhibit, show

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return build(
        "eccbench",
        out=tmp_path_factory.mktemp("shown") / "release",
        configs=["text", "tokens", "video-spatial", "video-sequential", "easyhuman-video"],
        settings={
            "lengths": (64,),
            "streams": 1,
            "sequences": 4,
            "test_lengths": (64,),
            "test_streams": 1,
        },
    )


def question(release: Release, config: str, answer: int, **columns: object) -> str:
    table = pq.read_table(release.path / f"data/{config}/test-00000-of-00001.parquet")
    for row in table.drop_columns(
        [c for c in ("video", "candidate_video") if c in table.column_names]
    ).to_pylist():
        if row["answer"] == answer and columns.items() <= row.items():
            return str(row["question_id"])
    raise AssertionError("no such question")


def colours(sheet: Path) -> set[tuple[int, ...]]:
    found = Image.open(sheet).getcolors(2**24)
    assert found is not None
    return {colour for _, colour in found if isinstance(colour, tuple)}


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def test_what_a_match_looks_like(release: Release, tmp_path: Path) -> None:
    name = question(release, "video-sequential", 0)
    shown = exhibit(release.path, "video-sequential", name)
    assert shown.answer == "yes"
    assert [shown.stream[i] for i in shown.marked] == list(shown.candidate)
    assert re.fullmatch(
        r"It occurs (once|\d+ times, first): frames \d+ to \d+ of the stream\.", shown.because
    )
    assert shown.wrong == ()
    sheet = show(release.path, config="video-sequential", question=name, out=tmp_path / "new" / "sheet.png")
    assert sheet == tmp_path / "new" / "sheet.png"
    assert Image.open(sheet).size[0] == 1600
    assert rgb(MATCH) in colours(sheet)
    assert not {rgb(NEAR), rgb(WRONG)} & colours(sheet)


def test_a_letter_on_a_wrong_belt_is_marked(release: Release, tmp_path: Path) -> None:
    name = question(release, "video-spatial", 1, band="max")
    shown = exhibit(release.path, "video-spatial", name)
    assert shown.answer == "no"
    (place,) = shown.wrong
    there = shown.stream[shown.marked[place]]
    assert there[0] == shown.candidate[place][0]
    assert f"{there[0]} is on belt {there[1]}, not {shown.candidate[place][1]}" in shown.because
    sheet = show(release.path, config="video-spatial", question=name, out=tmp_path / "sheet.png")
    assert {rgb(NEAR), rgb(WRONG)} <= colours(sheet)
    assert rgb(MATCH) not in colours(sheet)


def test_the_sheet_has_the_pictures_of_the_file(release: Release, tmp_path: Path) -> None:
    """Cut out of the sheet, each frame of the option video is the one that the row says."""
    from eccdata.video.pictures import decoded

    name = question(release, "video-spatial", 0, band="max")
    sheet = np.asarray(
        Image.open(show(release.path, config="video-spatial", question=name, out=tmp_path / "a.png"))
    )
    table = pq.read_table(release.path / "data/video-spatial/test-00000-of-00001.parquet")
    row = next(row for row in table.to_pylist() if row["question_id"] == name)
    expected = [
        np.asarray(
            Image.fromarray(decoded().luma[letter * 3 + belt]).resize((200, 200), Image.Resampling.LANCZOS)
        ).astype(float)
        for letter, belt in zip(row["candidate"], row["candidate_lanes"], strict=True)
    ]
    grey = sheet[..., 0].astype(float)
    # the first picture is looked for, the others stand beside it
    tops = [top for top in range(150, 420) if np.abs(grey[top : top + 200, 40:240] - 255).mean() > 60]
    distances = {
        top: np.abs(grey[top : top + 200, 40:240] - (expected[0] - 16) * 255 / 219).mean() for top in tops
    }
    top = min(distances, key=lambda at: distances[at])
    for number, picture in enumerate(expected):
        left = 40 + 208 * number
        assert np.abs(grey[top : top + 200, left : left + 200] - (picture - 16) * 255 / 219).mean() < 2


@pytest.mark.parametrize("ending", ["png", "html"])
def test_text_and_sequences_are_shown_as_text(release: Release, tmp_path: Path, ending: str) -> None:
    name = question(release, "text", 0)
    out = show(release.path, config="text", question=name, out=tmp_path / f"text.{ending}")
    shown = exhibit(release.path, "text", name)
    if ending == "png":
        assert rgb(MATCH) in colours(out)
    else:
        page = out.read_text()
        assert re.findall(r'<mark class="match">(\d+)</mark>', page) == list(shown.candidate)
        assert "<video" not in page
    assert show(release.path, config="tokens", question="tokens-train-s000001-q31", out=out) == out
    sequence = exhibit(release.path, "tokens", "tokens-train-s000001-q31")
    assert sequence.question_id == "tokens-train-s000001-q31"
    assert (sequence.answer == "yes") == (len(sequence.marked) > 0)


class Outline(HTMLParser):
    """Ids, references to ids, headings and videos of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        for name in ("aria-labelledby", "aria-describedby", "data-video"):
            self.references += given.get(name, "").split()
        self.sources += [given[name] for name in ("src", "href") if name in given]


def test_the_page_stands_alone_and_says_in_words_what_it_shows(release: Release, tmp_path: Path) -> None:
    name = question(release, "video-spatial", 1)
    page = show(release.path, config="video-spatial", question=name, out=tmp_path / "page.html").read_text()
    outline = Outline(page)
    assert set(outline.references) <= set(outline.ids)
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.tags.count("video") == 2
    assert all(source.startswith("data:video/mp4;base64,") for source in outline.sources)
    assert '<html lang="en">' in page
    assert outline.tags.count("h1") == 1
    assert "http" not in re.sub(r'src="data:[^"]*"', "", page)
    for text in (name, "Answer: <strong>no</strong>", "wrong-belt", "as one contiguous run?"):
        assert text in page


PROBE = """<script>
addEventListener("load", async () => {
  const tell = facts => fetch("/facts", {method: "POST", body: JSON.stringify(facts)});
  try {
    const videos = [...document.querySelectorAll("video")];
    await Promise.all(videos.map(video => video.readyState >= 2 ? 0 : new Promise((yes, no) => {
      video.onloadeddata = yes; video.onerror = () => no(video.error.message);
    })));
    const button = document.querySelector("button");
    const arrived = new Promise(yes => videos[0].onseeked = yes);
    button.click();
    await arrived;
    const main = document.querySelector("main").getBoundingClientRect();
    tell({
      durations: videos.map(video => video.duration), second: videos[0].currentTime,
      focus: document.activeElement.id, inside: main.right <= innerWidth && main.left >= 0,
      names: videos.map(video => document.getElementById(video.getAttribute("aria-labelledby")).textContent),
    });
  } catch (error) { tell({error: String(error)}); }
});
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to look at the page with")
def test_chromium_plays_both_videos_and_goes_to_the_match(release: Release, tmp_path: Path) -> None:
    name = question(release, "video-sequential", 0, band="max")
    shown = exhibit(release.path, "video-sequential", name)
    page = show(
        release.path, config="video-sequential", question=name, out=tmp_path / "page.html"
    ).read_text()
    facts = _visited(page.replace("</body>", f"{PROBE}</body>"), tmp_path / "profile")
    assert facts == {
        "durations": [64, len(shown.candidate)],
        "second": shown.marked[0] + 0.25,
        "focus": "main",
        "inside": True,
        "names": ["Main video", "Option video"],
    }


def _visited(page: str, profile: Path) -> object:
    assert CHROMIUM is not None
    posted: list[bytes] = []
    done = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode() if self.path == "/" else b"")

        def do_POST(self) -> None:
            posted.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        f"--user-data-dir={profile}",
    ]
    browser = subprocess.Popen(
        [CHROMIUM, *flags, f"http://127.0.0.1:{server.server_port}/"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert done.wait(90), "the page did not answer"
    finally:
        browser.terminate()
        browser.wait(30)
        server.shutdown()
        server.server_close()
    return json.loads(posted[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"out": "sheet.jpg"}, "is neither a .png nor a .html file"),
        ({"config": "video"}, "no configuration in .* called 'video'"),
        (
            {"question": "video-spatial-L0064-low-s00-q99"},
            "There is no question .* Near it there is:\n  - video-spatial",
        ),
        ({"config": "tokens", "question": "tokens-train-s000001-q40"}, "has the questions q00 to q31"),
        ({"question": "x"}, "There is no question 'x' in video-spatial"),
    ],
)
def test_mistakes_are_told(release: Release, tmp_path: Path, arguments: dict[str, str], said: str) -> None:
    given = {
        "config": "video-spatial",
        "question": "video-spatial-L0064-low-s00-q00",
        "out": "a.png",
        **arguments,
    }
    with pytest.raises(EccdataError, match=said):
        show(release.path, config=given["config"], question=given["question"], out=tmp_path / given["out"])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_and_a_folder_that_is_no_release(
    release: Release, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    name = question(release, "text", 0)
    with pytest.raises(EccdataError, match="cannot be written"):
        show(release.path, config="text", question=name, out=tmp_path / "file" / "a.png")
    with pytest.raises(EccdataError, match="is no release"):
        show(tmp_path, config="text", question=name, out=tmp_path / "a.png")


def test_a_broken_video_is_told(release: Release, tmp_path: Path) -> None:
    copy = shutil.copytree(release.path, tmp_path / "copy")
    path = copy / "data/video-spatial/test-00000-of-00001.parquet"
    rows = pq.read_table(path)
    broken = [{"bytes": b"no video", "path": None}] * rows.num_rows
    place = rows.column_names.index("video")
    field = rows.schema.field("video")
    pq.write_table(rows.set_column(place, field, pa.array(broken, field.type)), path)
    with pytest.raises(EccdataError, match="cannot be decoded"):
        show(
            copy,
            config="video-spatial",
            question=question(release, "video-spatial", 0),
            out=tmp_path / "a.png",
        )
    path.write_bytes(b"no Parquet")
    with pytest.raises(EccdataError, match="cannot be read"):
        show(copy, config="video-spatial", question="x", out=tmp_path / "a.png")
