"""A browser plays the files: every second seeked to shows its picture."""

import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from eccdata.video.lanes import LANES
from eccdata.video.mp4 import mp4_bytes
from eccdata.video.pictures import decoded

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# out of order, the same twice, both ends
SECONDS = [0, 5, 4, 11, 11, 1, 7]
LENGTH = 12
PAGE = f"""<!doctype html><meta charset=utf-8><video id=v muted></video><script>
const seconds = {SECONDS};
async function look() {{
  const video = document.getElementById("v");
  const file = await (await fetch("/video.mp4")).blob();
  const loaded = new Promise((yes, no) => {{
    video.onloadeddata = yes;
    video.onerror = () => no(new Error(video.error.message));
  }});
  video.src = URL.createObjectURL(file);
  await loaded;
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const context = canvas.getContext("2d", {{willReadFrequently: true}});
  const pictures = [];
  for (const second of seconds) {{
    const arrived = new Promise(yes => video.onseeked = yes);
    video.currentTime = second + 0.25;
    await arrived;
    context.drawImage(video, 0, 0);
    pictures.push(context.getImageData(0, 0, canvas.width, canvas.height).data);
  }}
  await fetch("/facts", {{method: "POST", body: JSON.stringify(
    {{duration: video.duration, width: video.videoWidth, height: video.videoHeight}})}});
  await fetch("/pictures", {{method: "POST", body: new Blob(pictures)}});
}}
look().catch(error => fetch("/facts", {{method: "POST", body: JSON.stringify({{error: String(error)}})}}));
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to play the videos in")
def test_chromium_seeks_to_the_right_pictures(tmp_path: Path) -> None:
    symbols = np.arange(LENGTH) * 7 % 16
    events = np.stack([symbols, np.arange(LENGTH) % LANES], axis=1)
    posted = _show(mp4_bytes(events), tmp_path)
    facts = json.loads(posted["/facts"])
    assert facts == {"duration": LENGTH, "width": 448, "height": 448}
    shown = np.frombuffer(posted["/pictures"], np.uint8).reshape(len(SECONDS), 448, 448, 4)[..., :3]
    assert (shown == shown[..., :1]).all(), "grey stays grey"
    numbers = symbols * LANES + np.arange(LENGTH) % LANES
    expected = (decoded().luma[numbers[SECONDS]].astype(float) - 16) * 255 / 219
    assert np.abs(shown[..., 0] - expected.clip(0, 255)).max() <= 2


def _show(video: bytes, profile: Path) -> dict[str, bytes]:
    assert CHROMIUM is not None
    posted: dict[str, bytes] = {}
    done = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = video if self.path == "/video.mp4" else PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "video/mp4" if self.path == "/video.mp4" else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            posted[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()
            if self.path == "/pictures" or b"error" in posted[self.path]:
                done.set()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = subprocess.Popen(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            f"--user-data-dir={profile}",
            f"http://127.0.0.1:{server.server_port}/",
        ],
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
    return posted
