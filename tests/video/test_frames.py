"""The look of the frames, as drawn and as shipped."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from eccdata.video.encoding import encode_pictures
from eccdata.video.frames import FRAMES, INK, PAPER, SIZE, draw_frame
from eccdata.video.lanes import LANES
from eccdata.video.pictures import FILE, ORDER, coded, decoded
from eccdata.video.reading import read_video


@pytest.fixture(scope="module")
def drawn() -> NDArray[np.uint8]:
    return np.array([draw_frame(*divmod(number, LANES)) for number in range(FRAMES)])


def psnr_db(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.float64]:
    error = one.astype(float) - other
    return np.asarray(10 * np.log10(255**2 / (error**2).mean(axis=(1, 2))))


def test_frames_differ_only_where_the_letter_is(drawn: NDArray[np.uint8]) -> None:
    assert drawn.shape == (48, SIZE, SIZE)
    assert len({frame.tobytes() for frame in drawn}) == 48
    assert drawn.min() == INK
    assert drawn.max() == PAPER
    for lane in range(LANES):
        of_lane = drawn[lane::LANES]
        changing = np.ptp(of_lane, axis=0) > 0
        rows, columns = np.flatnonzero(changing.any(axis=1)), np.flatnonzero(changing.any(axis=0))
        assert rows[0] > 192
        assert rows[-1] < 304
        assert 144 * lane + 24 <= columns[0]
        assert columns[-1] < 144 * lane + 136
    # the same letter is the same on every belt
    parcels = drawn[:, 192:304].reshape(16, 3, 112, SIZE)
    for lane in range(LANES):
        left = 144 * lane + 24
        assert (parcels[:, lane, :, left : left + 112] == parcels[:, 0, :, 24:136]).all()


def test_the_shipped_pictures_are_what_is_drawn(drawn: NDArray[np.uint8]) -> None:
    quality = psnr_db(decoded().luma, drawn)
    assert quality.min() > 50, "frames are kept small by the drawing, not by blur"


def test_the_shipped_pictures_are_as_small_as_promised() -> None:
    sizes = coded().sizes
    assert sizes.mean() < 1500
    assert sizes.max() < 2000
    assert len(FILE.read_bytes()) < 140_000


def test_the_shipped_pictures_are_the_ones_that_datasets_are_made_of() -> None:
    # Other pictures are another dataset: whoever changes them raises the version of every builder of videos.
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == GOLDEN_FILE
    assert hashlib.sha256(b"".join(decoded().digests)).hexdigest() == GOLDEN_PIXELS


GOLDEN_FILE = "b16d4626a10c6a51a97c4ccee874337dadc306111f394e708202fd2d2c85f037"
GOLDEN_PIXELS = "a9aa2c25f0c325bbde02fcba3557113a15cce061bb6d3e5349cf43eeb009af78"


def test_making_the_pictures_again_gives_pictures_that_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "again.mp4").write_bytes(encode_pictures())
    again = read_video(tmp_path / "again.mp4").events
    assert (again[:, 0] * LANES + again[:, 1]).tolist() == list(ORDER)


def test_every_frame_is_there_for_even_and_odd_places() -> None:
    pictures = coded()
    assert len(pictures.packets) == 2 * FRAMES
    first = [idr_pic_id(packet) for packet in pictures.packets[:FRAMES]]
    second = [idr_pic_id(packet) for packet in pictures.packets[FRAMES:]]
    assert set(first) == {first[0]}
    assert set(second) == {1 - first[0]}


def test_nothing_tells_who_encoded_them() -> None:
    assert not re.search(rb"x264|Lavf|Lavc|ffmpeg", FILE.read_bytes(), re.IGNORECASE)


def idr_pic_id(packet: bytes) -> int:
    """Read the field from the slice header (ITU-T H.264, 7.3.3): after three numbers and the 4 bits of frame_num."""
    (idr_slice,) = {packet[4] & 0x1F}
    assert idr_slice == 5
    assert int.from_bytes(packet[:4], "big") == len(packet) - 4, "one slice, nothing else"
    bits = "".join(f"{byte:08b}" for byte in packet[5:20])

    def exp_golomb(at: int) -> tuple[int, int]:
        zeros = bits.index("1", at) - at
        return int(bits[at + zeros : at + 2 * zeros + 1], 2) - 1, at + 2 * zeros + 1

    first_macroblock, at = exp_golomb(0)
    _, at = exp_golomb(at)
    _, at = exp_golomb(at)
    assert first_macroblock == 0
    return exp_golomb(at + 4)[0]
