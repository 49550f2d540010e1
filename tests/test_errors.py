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
