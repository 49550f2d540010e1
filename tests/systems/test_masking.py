from __future__ import annotations

from typing import Any

import pytest

from eccdata.systems.masking import Mask, is_secret, plain, without_credentials, without_secrets

SECRET = "s3cr3t-Value/9"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("accessToken", "access_token"),
        ("APIKey", "api_key"),
        ("x-api-key", "x_api_key"),
        ("--api-key", "api_key"),
        ("hf.token", "hf_token"),
        ("max_total_tokens", "max_total_tokens"),
    ],
)
def test_names_are_compared_by_their_words(name: str, words: str) -> None:
    assert plain(name) == words


@pytest.mark.parametrize(
    "name",
    [
        "accessToken",
        "x-api-key",
        "--api-key",
        "APIKey",
        "apikey",
        "clientSecret",
        "secret_ref",
        "DB-Password",
    ],
)
def test_names_of_secrets_however_they_are_spelt(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["api_key_env", "max_total_tokens", "tokenizer_path", "speculative_token_map", "monkey", "key_map"],
)
def test_other_names(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    "text",
    [
        f"--api-key {SECRET}",
        f"serve --api-key {SECRET} --port 1",
        f"serve --api-key={SECRET}",
        f"serve --hf-token '{SECRET}' -v",
        f"API_KEY={SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET} serve",
        f"{{'api_key': '{SECRET}', 'n': 1}}",
        f"password: {SECRET}",
        f"Authorization: {SECRET} then",
        f"Authorization: Bearer {SECRET}",
        f"Bearer {SECRET}",
        f"http://h/x?n=1&token={SECRET}&m=2",
        "sk-s3cr3tValue9s3cr3tValue9",
    ],
)
def test_secrets_are_found_by_what_they_stand_beside(text: str) -> None:
    masked = without_secrets(text)
    assert "s3cr3t" not in masked
    assert "***" in masked
    assert without_secrets(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "org/model",
        "serve --port 30000 --tokenizer-path org/model --max-total-tokens 10",
        "{% set eos_token = '</s>' %}{{ message['key'] }}{%- if token == 1 %}",
        "me@home says: hello",
        "a --token --next",
        "http://h/x?n=1&m=2",
    ],
)
def test_other_texts_are_left_as_they_are(text: str) -> None:
    assert without_secrets(text) == text


def test_every_url_loses_its_credentials() -> None:
    assert without_credentials("https://me:pw@host:8000/v1") == "https://host:8000/v1"
    assert without_credentials("https://host/v1") == "https://host/v1"
    assert without_credentials("me@home says: hello") == "me@home says: hello"
    assert without_credentials("http://a:b@h1,http://c:d@e@h2/x and redis://:pw@h3") == (
        "http://h1,http://h2/x and redis://h3"
    )
    assert without_credentials("http://host/@user") == "http://host/@user"


def test_own_secrets_are_masked_everywhere() -> None:
    mask = Mask(SECRET, "")
    said: Any = {"a": [f"x{SECRET}y", 1, None], SECRET: {"b": f"k=s3cr3t-Value%2F9 {SECRET}"}}
    assert mask.everywhere(said) == {"a": ["x***y", 1, None], "***": {"b": "k=*** ***"}}
    assert Mask().everywhere(said) == said


def test_a_word_that_stands_for_no_key_is_left_in_replies_alone() -> None:
    mask = Mask("EMPTY")
    assert (mask("EMPTY"), mask.reply("EMPTY")) == ("***", "EMPTY")
    assert Mask(SECRET).reply(f"it is {SECRET}") == "it is ***"


def test_a_secret_within_another_leaves_nothing_of_it() -> None:
    assert Mask("secret", "secret-longer")("secret-longer secret") == "*** ***"
