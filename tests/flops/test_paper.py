"""Every digit of the paper's tables of prices: Tables 2, 3 and 9, and what B.3 and B.7 say in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from eccdata.flops import coefficients, price
from eccdata.flops.architectures import architecture, shipped
from eccdata.flops.retrieval import RetrievalPrice, embedding_flops, window_count

SYNTHETIC, NATURAL = (448, 448), (640, 360)

# B in MF a token, A in kF a pair, F_voc in MF
TABLE_2 = {
    "Qwen2.5-VL (7B)": (13_051, 401, 1_090),
    "Qwen3-VL (8B)": (13_892, 590, 1_245),
    "Qwen3-Omni (30B, A3B)": (5_461, 786, 623),
    "GLM-4.5V (104B, A12B)": (24_363, 2_261, 1_242),
    "InternVL3.5 (8B)": (13_892, 590, 1_245),
    "InternVL3.5 (30B, A3B)": (5_461, 786, 622),
    "InternVL3.5 (38B)": (62_411, 2_097, 1_556),
    "MIMO-VL (7B)": (12_759, 590, 1_243),
    "MiniCPM-V 4.5 (9B)": (13_892, 590, 1_243),
    "MiniCPM-V 2.6 (8B)": (13_051, 401, 1_087),
    "LongVILA (7B)": (13_051, 401, 1_087),
    "Phi-4-MM (6B)": (7_181, 393, 1_229),
}
# N in tokens, F_pre in TF, F_dec in GF; on text, on video of 448×448, on video of 640×360
TABLE_3 = {
    "Qwen2.5-VL (7B)": ((64, "0.84", 29), (8_320, "122", 36), (9_696, "145", 37)),
    "Qwen3-VL (8B)": ((64, "0.89", 32), (6_400, "101", 39), (7_168, "115", 40)),
    "Qwen3-Omni (30B, A3B)": ((64, "0.35", 13), (6_400, "51", 23), (7_168, "59", 24)),
    "GLM-4.5V (104B, A12B)": ((64, "1.56", 53), (8_320, "281", 90), (9_696, "343", 96)),
    "InternVL3.5 (8B)": ((64, "0.89", 32), (16_512, "310", 51), (16_512, "310", 51)),
    "InternVL3.5 (30B, A3B)": ((64, "0.35", 13), (16_512, "197", 39), (16_512, "197", 39)),
    "InternVL3.5 (38B)": ((64, "4.00", 130), (16_512, "1316", 199), (16_512, "1316", 199)),
    "MIMO-VL (7B)": ((64, "0.82", 29), (8_320, "127", 39), (9_696, "151", 41)),
    "MiniCPM-V 4.5 (9B)": ((64, "0.89", 32), (4_224, "64", 36), (4_224, "64", 36)),
    "MiniCPM-V 2.6 (8B)": ((64, "0.84", 29), (4_224, "59", 33), (4_224, "59", 33)),
    "LongVILA (7B)": ((64, "0.84", 29), (4_240, "59", 33), (4_240, "59", 33)),
    "Phi-4-MM (6B)": ((64, "0.41", 17), (35_008, "492", 46), (35_008, "492", 46)),
}
TABLE_3_CASES = [(model, *case) for model, cases in TABLE_3.items() for case in enumerate(cases)]
TABLE_3_ASKED = ((0, None, 64), (64, SYNTHETIC, 128), (64, NATURAL, 128))
"""Frames, their size, and tokens of text: the stream itself on text, a prompt of 128 on video."""


def test_all_of_table_2_ship_in_its_order() -> None:
    assert [each.name for each in shipped()] == list(TABLE_2) == list(TABLE_3)


@pytest.mark.parametrize("model", TABLE_2)
def test_table_2(model: str) -> None:
    b, a, f_voc = coefficients(model)
    assert (round(b / 1e6), round(a / 1e3), round(f_voc / 1e6)) == TABLE_2[model]


@pytest.mark.parametrize(("model", "column", "printed"), TABLE_3_CASES)
def test_table_3(model: str, column: int, printed: tuple[int, str, int]) -> None:
    """Its F_pre is the prefill alone, without tower and connector; Phi-4-MM's adapters are not there on text."""
    frames, size, text = TABLE_3_ASKED[column]
    n, prefill, decode = printed
    cost = price(model, frames=frames, frame_size=size, prompt_tokens=text, answer_tokens=3)
    digits = len(prefill.partition(".")[2])
    assert cost.context == n
    assert f"{cost.prefill / 1e12:.{digits}f}" == prefill
    assert f"{cost.decode / 1e9:.0f}" == f"{decode}"


@pytest.mark.parametrize(
    ("model", "times"),
    [
        ("InternVL3.5 (8B)", "6.4"),
        ("InternVL3.5 (30B, A3B)", "6.4"),
        ("InternVL3.5 (38B)", "6.4"),
        ("Phi-4-MM (6B)", "4.3"),
        ("MiniCPM-V 2.6 (8B)", "2.0"),
        ("GLM-4.5V (104B, A12B)", "2.0"),
        ("Qwen3-Omni (30B, A3B)", "1.5"),
        ("Qwen2.5-VL (7B)", "1.02"),
        ("MIMO-VL (7B)", "1.02"),
    ],
)
def test_how_far_1024_frames_exceed_contexts(model: str, times: str) -> None:
    context = architecture(model).context
    assert context is not None
    n = price(model, frames=1024, frame_size=SYNTHETIC).context
    # 1.02 is of the vision tokens' 131,072 in 128,000
    assert f"{n / context:.{len(times) - 2}f}" == times


def test_the_others_contexts_hold_1024_frames() -> None:
    for model in ("Qwen3-VL (8B)", "MiniCPM-V 4.5 (9B)"):
        context = architecture(model).context
        assert context is not None
        assert price(model, frames=1024, frame_size=SYNTHETIC, prompt_tokens=128).context < context


def test_the_last_pack_of_minicpm_is_priced_at_its_true_size() -> None:
    """At L = 1000, packs of 6 frames: 166 whole ones and one of 4, whose resampler reads 4 × 1024 patches."""
    d_v, d_t = 1152, 4096

    def call(k: int) -> int:
        return 2 * k * d_v * d_t + 4 * k * d_t**2 + 4 * 64 * d_t * k + 6 * 64 * d_t**2

    cost = price("MiniCPM-V 4.5", frames=1000)
    assert cost.connector == 166 * call(6 * 1024) + call(4 * 1024)
    assert cost.vision_tokens == 64 * 167


def test_windows_bound_the_attention_of_qwen25() -> None:
    """Of a group of 1024 patches: 4 blocks attend across it, 28 within 64 (B.3)."""
    v, d, f = 1024, 1280, 3420
    linear = 8 * v * d**2 + 6 * v * d * f
    blocks = 4 * (linear + 4 * v * v * d) + 28 * (linear + 4 * v * 64 * d)
    assert price("Qwen2.5-VL", frames=2, frame_size=SYNTHETIC).vision == blocks + 2 * v * (2 * 3 * 14**2) * d


def test_internvls_class_token_attends_and_has_no_pixels() -> None:
    v, d, f = 1025, 1024, 4096
    blocks = 24 * (8 * v * d**2 + 4 * v * v * d + 4 * v * d * f)
    assert price("InternVL3.5 8B", frames=3).vision == 3 * (blocks + 2 * 1024 * 3 * 14**2 * d)


def test_phi_runs_two_crops_a_frame_and_its_adapters_only_where_an_image_is() -> None:
    without = coefficients("Phi-4-MM", images=False).b
    adapters = 32 * 2 * 256 * ((3072 + 5120) + (3072 + 3072) + (3072 + 2 * 8192) + (8192 + 3072))
    assert coefficients("Phi-4-MM").b == without + adapters
    assert price("Phi-4-MM", prompt_tokens=1).prefill == without + coefficients("Phi-4-MM").a
    one = price("Phi-4-MM", frames=1)
    assert one.vision_tokens == 545
    assert one.vision == 2 * price("MiniCPM-V 2.6", frames=1).vision


def test_longvila_projects_every_frame_and_pools_what_comes_out() -> None:
    m, d_t = 4 * 1152, 3584
    for frames, tokens in ((64, 257 * 16), (256, 257 * 64), (257, 257 * 32), (3, 0)):
        cost = price("LongVILA", frames=frames)
        assert cost.vision_tokens == tokens
        assert cost.connector == 256 * frames * (2 * m**2 + 2 * m * d_t)


def test_deepstack_is_three_more_mergers() -> None:
    m, d_t = 4 * 1152, 4096
    cost = price("Qwen3-VL", frames=64, frame_size=SYNTHETIC)
    assert cost.connector == 196 * 32 * 4 * (2 * m**2 + 2 * m * d_t)


def test_glms_first_layer_is_dense() -> None:
    d, d_q, d_kv, f = 4096, 96 * 128, 8 * 128, 1408
    phi = 2 * d * 128 + 8 * 6 * d * f + 6 * d * f
    body = 46 * (2 * d * (d_q + 2 * d_kv) + 2 * d_q * d) + 6 * d * 10944 + 45 * phi
    assert coefficients("GLM-4.5V").b == body


def test_a_window_and_a_query_of_b7() -> None:
    """What text stands beside a window is not told: 23 to 29 tokens of it give the printed digits."""
    for text in range(23, 30):
        window = embedding_flops(
            "Qwen/Qwen3-VL-Embedding-8B", frames=16, frame_size=NATURAL, text_tokens=text
        )
        assert f"{window / 1e12:.1f}" == "32.9"
    # a sentence of 40 tokens; a candidate of five or six frames
    assert f"{embedding_flops('Qwen3-VL', text_tokens=40) / 1e12:.2f}" == "0.56"
    for frames in (5, 6):
        query = embedding_flops("Qwen3-VL", frames=frames, frame_size=SYNTHETIC, text_tokens=24)
        assert f"{query / 1e12:.0f}" == "11"


# L, size, candidate's frames; RAG TF, full TF, saving, index PF, break-even, one query TF
TABLE_9 = [
    (64, NATURAL, 0, 19, 87, "4.7", "0.43", "6.3", 449),
    (128, NATURAL, 0, 40, 213, "5.3", "0.95", "5.5", 990),
    (512, NATURAL, 0, 42, 1_786, "42.5", "4.11", "2.4", 4_152),
    (64, SYNTHETIC, 6, 23, 84, "3.7", "0.43", "7.0", 453),
]


@pytest.mark.parametrize(
    ("frames", "size", "option", "rag", "full", "saving", "index", "break_even", "one_query"), TABLE_9
)
def test_table_9(
    frames: int,
    size: tuple[int, int],
    option: int,
    rag: int,
    full: int,
    saving: str,
    index: str,
    break_even: str,
    one_query: int,
) -> None:
    """Its answers are priced with a prompt of 128 tokens and three of answer.

    The printed digits leave the query's embedding out of the cost of an answer, whatever the caption says: with it,
    synthetic answers would cost 34 TF. From L = 128 on, three windows are merged to as many frames as they happen to
    cover, so that there the printed cost of an answer is taken over. Break-even and one query are of the index as it
    is printed, in PF with two decimals.
    """

    def answer(main: int) -> float:
        clips = [(main, size), (option, size)]
        total = price("Qwen3-Omni", clips=clips, prompt_tokens=128, answer_tokens=3).total
        assert isinstance(total, float)
        return total

    window = embedding_flops("Qwen3-VL", frames=16, frame_size=NATURAL, text_tokens=24)
    assert isinstance(window, float)
    cost = RetrievalPrice(
        index=window_count(frames) * window,
        query=0.0,
        answer=answer(16) if frames == 64 else rag * 1e12,
        full=answer(frames),
    )
    assert round(cost.per_answer / 1e12) == rag
    assert round(cost.full / 1e12) == full
    assert f"{cost.index / 1e15:.2f}" == index
    rounded = replace(cost, index=float(index) * 1e15)
    assert f"{rounded.break_even:.1f}" == break_even
    assert round(rounded.one_query / 1e12) == one_query
    assert cost.break_even == pytest.approx(float(break_even), abs=0.1)
    assert cost.one_query == pytest.approx(one_query * 1e12, rel=0.01)
    # the merged windows' cost is known to a whole TF
    assert cost.saving == pytest.approx(float(saving), abs=0.05 if frames == 64 else 0.6)


def test_windows() -> None:
    assert [window_count(frames) for frames in (1, 15, 16, 19, 20, 64, 128, 512)] == [
        1,
        1,
        1,
        1,
        2,
        13,
        29,
        125,
    ]


def test_retrieval_that_saves_nothing_never_breaks_even() -> None:
    assert RetrievalPrice(index=5.0, query=1.0, answer=2.0, full=3.0).break_even == math.inf
