"""What a server's base URL may be: an address to which paths are appended."""

from __future__ import annotations

import re

from yarl import URL

from eccdata.systems.masking import without_credentials


def faults(base_url: str, api_key_env: str) -> list[str]:
    """What is wrong with a base URL, each in a sentence that shows nothing of it that may be secret.

    Args:
        base_url: The URL.
        api_key_env: Where a key is to stand instead.

    """
    found = []
    address = re.split(r"[?#]", base_url, maxsplit=1)[0]
    if not _is_address(address):
        found.append(f"base_url={without_credentials(address)}: a URL such as http://127.0.0.1:30000")
    before, sign, _ = base_url.partition("#")
    parts = []
    if "?" in before:
        parts.append("a query string (from ? on)")
    if sign:
        parts.append("a fragment (from # on)")
    if parts:
        found.append(f"base_url has {' and '.join(parts)}: leave that off; a key goes into ${api_key_env}")
    return found


def _is_address(text: str) -> bool:
    try:
        url = URL(text)
    except ValueError:  # a port that is no number, …
        return False
    return url.scheme in ("http", "https") and bool(url.host)
