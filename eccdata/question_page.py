"""A question as a page of its own: both videos to play, the streams as text, question and answer."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape

from eccdata.show import Exhibit

_STYLE = """
:root { color-scheme: light dark; --match: #0a7d4f; --near: #b35900; --wrong: #c2185b; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
.videos { display: flex; flex-wrap: wrap; gap: 2rem; }
figure { margin: 0; flex: 1 1 20rem; max-width: 28rem; }
video { width: 100%; aspect-ratio: 1; background: #000; }
figcaption { font-weight: 600; }
.places { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
mark { background: var(--match); color: #fff; padding: .1em .25em; border-radius: .2em; }
mark.near { background: var(--near); }
mark.wrong { background: var(--wrong); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; padding: .3rem .8rem; }
:focus-visible { outline: 3px solid #1565c0; outline-offset: 2px; }
"""

_SCRIPT = """
document.querySelectorAll("button[data-second]").forEach(button => button.addEventListener("click", () => {
  const video = document.getElementById(button.dataset.video);
  video.pause();
  video.currentTime = Number(button.dataset.second) + 0.25;
  video.focus();
}));
"""


def question_page(exhibit: Exhibit) -> str:
    """Write a question as an HTML page that needs nothing beside itself: videos stand in it as data.

    Everything that a video shows stands under it as text too, and is what describes it to a screen reader.
    """
    name = escape(exhibit.question_id)
    kind = "match" if exhibit.answer == "yes" else "near"
    words = ("Main video", "Option video") if exhibit.videos else ("Stream", "Candidate")
    body = [
        f"<h1>{name}</h1>",
        f"<p>{escape(exhibit.asked)}</p>",
        f"<p>Answer: <strong>{escape(exhibit.answer)}</strong>. {escape(exhibit.because)}</p>",
    ]
    if exhibit.videos:
        body += ['<div class="videos">', *_players(exhibit, words), "</div>"]
    body += [
        *_section("main-text", words[0], exhibit.stream, dict.fromkeys(exhibit.marked, kind)),
        *_section("option-text", words[1], exhibit.candidate, dict.fromkeys(exhibit.wrong, "wrong")),
        "<h2>More of the row</h2>",
        "<dl>",
        *(f"<dt>{escape(fact)}</dt><dd>{escape(value)}</dd>" for fact, value in exhibit.facts.items()),
        "</dl>",
    ]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name}</title><style>{_STYLE}</style></head><body><main>",
            *body,
            f"</main><script>{_SCRIPT}</script></body></html>\n",
        ]
    )


def _players(exhibit: Exhibit, words: Sequence[str]) -> Iterator[str]:
    for id_, word, data in zip(("main", "option"), words, exhibit.videos or (), strict=True):
        content = base64.b64encode(data).decode()
        yield f'<figure><figcaption id="{id_}-name">{word}</figcaption>'
        yield (
            f'<video id="{id_}" controls muted playsinline tabindex="0" aria-labelledby="{id_}-name" '
            f'aria-describedby="{id_}-text" src="data:video/mp4;base64,{content}"></video>'
        )
        if id_ == "main" and exhibit.marked:
            where = "the match" if exhibit.answer == "yes" else "the window with the same letters"
            yield f'<p><button type="button" data-video="main" data-second="{exhibit.marked[0]}">'
            yield f"Go to {where}: second {exhibit.marked[0]}</button></p>"
        yield "</figure>"


def _section(id_: str, word: str, places: Sequence[str], marks: dict[int, str]) -> Iterator[str]:
    how = ", letter and belt" if places and not places[0].isdigit() else ""
    yield f"<h2>{word} as text ({len(places)} in all{how})</h2>"
    yield f'<p class="places" id="{id_}">'
    yield " ".join(
        f'<mark class="{marks[i]}">{escape(place)}</mark>' if i in marks else escape(place)
        for i, place in enumerate(places)
    )
    yield "</p>"
