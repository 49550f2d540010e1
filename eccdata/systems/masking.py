"""Secrets in text: a client's own, which are known, and others', which are known by what they stand beside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from eccdata.requests import Json

MASKED = "***"

LONG = 8
"""Servers without a key are often asked with a word such as `EMPTY`. What a model replied is evidence, and such a
word may well stand in it by itself: only secrets of this many characters and more are masked there."""


class Mask:
    """Takes a client's own secrets out of whatever a server sends back."""

    def __init__(self, *secrets: str) -> None:
        """Take these secrets out; empty ones are none."""
        forms = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""))}
        # longest first: one secret may be part of another
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._long = [form for form in self._forms if len(form) >= LONG]

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for form in self._forms:
            text = text.replace(form, MASKED)
        return text

    def reply(self, text: str) -> str:
        """What a model said, without the secrets that are too long to stand there by chance."""
        for form in self._long:
            text = text.replace(form, MASKED)
        return text

    def everywhere(self, value: Json) -> Json:
        """A JSON value with the secrets taken out of each of its strings, names of fields included."""
        if not self._forms:
            return value
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(str(name)): self.everywhere(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.everywhere(part) for part in value]
        return value


_SECRET = re.compile(
    r"(^|_)(api_?key|keys?|token|secret|password|passwd|credentials?|authorization|auth|cookie|bearer)($|_[ab]$)"
    r"|(^|_)(secret|password|passwd|pwd|passphrase|credentials?)(_|$)"
    r"|(^|_)(api_?key|((api|access|auth|hf|refresh)_?token))s?(_value)?$"
    r"|key_?file|(^|_)key_(password|id)|watermark_key"
)


def is_secret(name: str) -> bool:
    """Whether a field, an option or a header of this name may hold a secret, however the name is spelt."""
    return _SECRET.search(plain(name)) is not None


def plain(name: str) -> str:
    """A name in lower case, with single underscores between its words: `accessToken`, `x-api-key`, `--api-key`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+", "_", name)
    return re.sub(r"_+", "_", words).strip("_").lower()


_CREDENTIALS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#]*@")


def without_credentials(text: str) -> str:
    """A text with user names and passwords taken out of all URLs in it."""
    return _CREDENTIALS.sub(r"\1", text)


_VALUE = r"""("[^"]*"|'[^']*'|[^\s&,;"']+)"""
_OPTION = re.compile(rf"(?<![\w-])(--?[A-Za-z][\w.-]*)(\s*=\s*|\s+)(?!--){_VALUE}")
_PARAMETER = re.compile(r"([?&])([\w.-]+)(=)([^\s&#]+)")
# Names with a space or more around the sign, and words such as `token` alone, occur in templates and prose.
_ASSIGNED = re.compile(rf"(?<![\w-])(['\"]?[A-Za-z][\w.-]*['\"]?)(=|:\s*){_VALUE}")
_SURE = re.compile(
    r"(api_?key|(access|auth|api|hf|refresh)_?token|secret(_\w+)?|(access|private)_key|password|passwd|passphrase)$"
)
_SCHEME = re.compile(
    r"(?i)\b((?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic|token)\s+)?|bearer\s+)[^\s,;'\"]+"
)
_SHAPED = re.compile(r"\b(sk-|hf_)[A-Za-z0-9_-]{16,}")


def without_secrets(text: str) -> str:
    """A text with credentials taken out: of URLs, of a command's options, of assignments and of headers."""

    def masked(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{MASKED}" if is_secret(found[1]) else found[0]

    def parameter(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}={MASKED}" if is_secret(found[2]) else found[0]

    def assigned(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{MASKED}" if _SURE.search(plain(found[1])) else found[0]

    text = without_credentials(text)
    text = _SCHEME.sub(rf"\1{MASKED}", text)
    text = _OPTION.sub(masked, text)
    text = _PARAMETER.sub(parameter, text)
    text = _ASSIGNED.sub(assigned, text)
    return _SHAPED.sub(MASKED, text)
