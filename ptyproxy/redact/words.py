"""Which names are names of secrets. Invariant: a name counts by its words, so `tokenCount`, `password_file`,
`bypass` and `PWD` are none while `PGPASSWORD`, `authToken` and `X-Api-Key` are.
"""

from __future__ import annotations

import re
from functools import cache

# A name that ends so speaks about a secret, it does not hold one.
_ABOUT_WORDS = """age alg algo algorithm at authentication bat budget cfg changed class cmd conf count counts
cpp created dir directory disabled dll duration enabled endpoint env error errors exception exe exists
expiration expire expired expires expiry factory field file files filter folder format go handler helper hint
host id ids index input invalid issued java js json label len length lifetime limit limits line list login
manager map max method min mismatch mode name names needed parser path pattern php policy port pos position
prefix prompt provider py rate rb ref regex required reset rotation rs scheme server service set sh size so
source state stats status stdin storage store stream strength suffix timeout toml total ts ttl txt type types
updated uri url usage used user username valid validation validator var variable version xml yaml yml"""
# What makes a key a key to something. Any other `..._key` needs a value that looks random.
_KEY_OF_WORDS = """access account api app application auth client consumer deploy encryption hmac jwt license
management master private secret service session shared signing storage subscription"""
_NO_KEY_OF_WORDS = """cache foreign group hash host idempotency index map object partition primary public
registry row sort"""
_ABOUT = frozenset(_ABOUT_WORDS.split())
_KEY_OF = frozenset(_KEY_OF_WORDS.split())
_NO_KEY_OF = frozenset(_NO_KEY_OF_WORDS.split())
_NO_PASS = frozenset({"askpass", "bypass", "compass", "minipass", "trespass"})
_GLUED = (
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("passwort", "password"),
    ("kennwort", "password"),
    ("secret", "secret"),
    ("credential", "credential"),
    ("apikey", "api-key"),
    ("accesskey", "api-key"),
    ("privatekey", "api-key"),
    ("accountkey", "api-key"),
    ("authtoken", "token"),
    ("accesstoken", "token"),
    ("refreshtoken", "token"),
    ("sessiontoken", "token"),
)


@cache
def _words_pattern() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def name_kind(name: str) -> str:
    """ "password", "token", "secret", "credential", "api-key", "key" (only with a random value) or "": no secret."""
    words = [word.lower() for word in _words_pattern().findall(name) if not word.isdigit()]
    if not words:
        return ""
    last = words[-1]
    if last in _ABOUT and words[-2:] != ["secret", "id"]:
        return ""
    glued = "".join(words)
    for part, kind in _GLUED:
        if part in glued and "secretar" not in glued:
            return kind
    if last == "token" or (words[-2:-1] == ["token"] and last in {"value", "secret", "key", "data", "string"}):
        return "token"
    if last == "pwd":  # the shell's PWD and OLDPWD are directories
        return "password" if words[0] not in {"pwd", "old"} or name in {"Pwd", "pwd"} else ""
    if last.endswith("pass") and last not in _NO_PASS and name != "PASS":
        return "password"
    if last == "auth":
        return "token" if name.strip("\"'.") in {"_auth", "auth"} and name.startswith(("_", "auth")) else ""
    if last in {"jwt", "phpsessid", "jsessionid"} or glued in {"connectsid"}:
        return "token"
    if last == "key" or last.endswith("key"):
        return _key_kind(words)
    return ""


def _key_kind(words: list[str]) -> str:
    if len(words) < 2:
        return ""
    of = words[-2]
    if of in _NO_KEY_OF:
        return ""
    return "api-key" if of in _KEY_OF else "key"
