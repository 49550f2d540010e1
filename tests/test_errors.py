"""A user's mistakes are told whole: what, which items, what to do."""

from __future__ import annotations

from eccdata.errors import problem, unknown


def test_ten_items_are_shown_and_all_are_counted() -> None:
    message = str(problem("These files are missing:", [f"f{i}" for i in range(25)], "Fetch them."))
    assert message.count("  - ") == 10
    assert "f9" in message
    assert "f10" not in message
    assert "15 more (25 in all)" in message
    assert message.endswith("Fetch them.")


def test_no_count_where_all_are_shown() -> None:
    assert str(problem("Missing:", ["a", "b"])) == "Missing:\n  - a\n  - b"


def test_unknown_offers_the_nearest_and_lists_all() -> None:
    message = str(unknown("system", "windw", ["window", "exact"]))
    assert "Did you mean 'window'?" in message
    assert "There is: exact, window." in message
    assert "None is installed" in str(unknown("system", "x", []))


def test_the_nearest_is_found_however_it_is_written() -> None:
    known = ["GLM-4.5V (104B)", "Qwen3-VL (2B)", "Qwen3-VL (4B)", "Qwen3-VL (8B)", "Qwen3-VL (32B)"]
    assert "Did you mean 'GLM-4.5V (104B)'?" in str(unknown("model", "glm4.5v", known))
    assert "Did you mean 'Qwen3-VL (8B)'?" in str(unknown("model", "Qwen3 VL 8b", known))
    several = "Did you mean 'Qwen3-VL (2B)' or 'Qwen3-VL (32B)' or 'Qwen3-VL (4B)'?"
    assert several in str(unknown("model", "qwen3-vl", known))
    assert "Did you mean" not in str(unknown("model", "?", known))
