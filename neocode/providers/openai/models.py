"""The body of GET /models, in the shapes that servers give it, as a bounded list of printable ids."""

from __future__ import annotations

import msgspec

from neocode.providers.openai.text import one_line

MAX_LIST_BYTES = 4 * 1024 * 1024  # aggregators list some hundred models with long descriptions
MAX_MODELS = 1000
MAX_ID_CHARS = 200


def model_ids(raw: bytes) -> list[str] | None:
    """Ids in the server's order, of `{"data": [{"id"}]}`, `{"models": [{"name"}]}` or a bare list; None: no list."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    entries = body
    if isinstance(body, dict):
        entries = next((body[name] for name in ("data", "models") if isinstance(body.get(name), list)), None)
    if not isinstance(entries, list):
        return None
    ids = (_id(entry) for entry in entries[:MAX_MODELS])
    return list(dict.fromkeys(filter(None, ids)))


def _id(entry: object) -> str:
    if isinstance(entry, dict):
        entry = next((entry[name] for name in ("id", "name", "model") if isinstance(entry.get(name), str)), "")
    return one_line(entry, limit=MAX_ID_CHARS) if isinstance(entry, str) else ""
