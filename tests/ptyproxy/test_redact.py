"""No secret leaves, nothing else is touched, and masking twice is masking once."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secret_samples import ALNUM, BORDERED, IN_CONTEXT, SECRET, TOKENS, pem

from ptyproxy.redact import Redactor

REDACTOR = Redactor()
FORMS = [(kind, secret) for kinds in (TOKENS, BORDERED) for kind, secrets in kinds.items() for secret in secrets]

HARMLESS = """\
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
index 5f3a1c2..d670460b4b4aece5915caf5c68d12f560a9fe3e4 100644
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
checksum = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809"
request 550e8400-e29b-41d4-a716-446655440000 from 192.168.1.17:52344 and fe80::1ff:fe23:4567:890a
version 1.2.3-beta.4+build.567, python 3.11.7, node v20.11.1
/usr/lib/python3/dist-packages/keyring/backends/token_store.py:123: in get_password
  File "/srv/app/auth/token.py", line 45, in refresh_token
    password=self.password, token=get_token(), secret=os.environ["SECRET"]
    connect(user=user, password=password)
at TokenStream.next (/app/node_modules/parser/lib/token.js:123:45)
main.secretHandler(0xc0000b4000) /go/src/app/secret.go:120 +0x45
SyntaxError: Unexpected token: punc (,)
Unexpected token '<', "<!DOCTYPE "... is not valid JSON
error: password: must be at least 8 characters
{"password": ["This field is required."], "token": "The token is invalid or expired."}
fatal: Authentication failed for 'https://github.com/acme/app.git/'
remote: Support for password authentication was removed on August 13, 2021.
ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)
psql: error: FATAL:  password authentication failed for user "bob"
[sudo] password for bob:
passwd: Authentication token manipulation error
Enter passphrase for key '/home/bob/.ssh/id_ed25519':
PWD=/home/bob/src
OLDPWD=/home/bob
SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.123
XAUTHORITY=/home/bob/.Xauthority
max_tokens=4096 total_tokens: 512 token_count=17 tokens: 99
token_url=https://login.example.com/oauth2/token token_type: bearer
permissions: { id-token: write, contents: read }
persist-credentials: false
password: string; token: String, secret: bytes
password_file=/run/secrets/db  --password-stdin  passwordAuthentication: no
--token TOKEN  --password <password>  --api-key=$API_KEY --secret ${SECRET}
password=*** token=xxxxxxxx secret=<hidden> api_key=%API_KEY% key={{ .Values.key }} pwd=[MASKED]
api-key: sk-...abcd sk-proj-********************abcd
error: Incorrect API key provided: sk-proj-****abcd.
Restored cache with key: linux-node-5f3a1c2d9e8b7a6f5e4d3c2b1a0f9e8d
cache_key=Linux-npm-9fceb02d0ae598e95dc970b74767f19372d61af8
PASS: test_parser 12 pass=12 fail=0
bypass=on compass: north author=bob authority=example.com secretary: alice
primary key: 12345 foreign_key=orders.id sort_key=created_at
KeyError: 'user_id'  keyboard: us  monkey=1 turkey: 2
MountVolume.SetUp failed for volume "tls" : secret "web-tls" not found
NAME        TYPE                DATA   AGE
web-tls     kubernetes.io/tls   2      5d
secretName: web-tls
http://127.0.0.1:4873/@scope%2fname http://localhost:8080/@scope/pkg
git@github.com:acme/app.git ssh://git@host:22/app.git https://example.com/a:b@c
npm ERR! 404 Not Found - GET https://registry.npmjs.org/@acme%2fapp
Authorization: required
Set-Cookie: rejected because it has the SameSite attribute
sk-circle-fade-dot-animation-1 task-runner-configuration-9 risk-assessment-2024-report-final
-----BEGIN CERTIFICATE-----
MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ
-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo
-----END PUBLIC KEY-----
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 bob@host
    "minipass": "^7.1.1",
    "@isaacs/fs-minipass": "^4.0.0",
        self.password = password
    authorization: Optional[str]
export HTTPS_PROXY=http://USER:PASSWORD@PROXY_HOST:8080 SSH_ASKPASS=/usr/bin/ksshaskpass
<a href="index.html" accesskey="u" rel="up">libffi</a>
redis-cli --askpass ping
error getting credentials - err: exec: "docker-credential-desktop.exe": executable file not found in $PATH
auth = "Basic " + encoded
docker run -u 1000:1000 -p 8080:80 -v /a:/b img
mkdir -p build/out; cp -p a b; tar -xpf x.tar
"""


def contains(text: str, secret: str) -> bool:
    """Whether so much of `secret` is left that it is of use: any 12 characters of it in a row, or all."""
    secret = re.sub(r"^[\w.]+\.com/(?:api/webhooks/)?", "", secret)  # the host of a webhook is public
    parts = [line for line in re.split(r"\\n|\n", secret) if not line.startswith("-----")]
    return any(p[i : i + 12] in text for p in parts for i in range(max(1, len(p) - 11)) if len(p) >= 5)


@pytest.mark.parametrize(("kind", "secret"), FORMS, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(FORMS)])
def test_a_secret_with_a_form_of_its_own_is_masked_by_kind(kind: str, secret: str) -> None:
    for text in (secret, f"error: {secret} refused", f'{{"x": "{secret}"}}', f"a\n{secret}\nb", f"x={secret}, y"):
        redacted = REDACTOR.redact(text)
        assert not contains(redacted.text, secret)
        assert f"[redacted:{kind}]" in redacted.text
        assert redacted.kinds[kind] >= 1
        assert REDACTOR.redact(redacted.text) == (redacted.text, 0, {})


@pytest.mark.parametrize(("text", "secret"), IN_CONTEXT, ids=range(len(IN_CONTEXT)))
def test_a_secret_is_known_by_its_place_or_name(text: str, secret: str) -> None:
    for surrounded in (text, f"first line\n{text}\nlast line"):
        redacted = REDACTOR.redact(surrounded)
        assert not contains(redacted.text, secret), redacted.text
        assert redacted.count >= 1
        assert REDACTOR.redact(redacted.text) == (redacted.text, 0, {})


@pytest.mark.parametrize("line", HARMLESS.splitlines())
def test_what_is_no_secret_stays(line: str) -> None:
    """warpdotdev/warp#5974, #5879, #6034: addresses and UUIDs were masked."""
    assert REDACTOR.redact(line).text == line


def test_a_log_without_secrets_stays_as_a_whole() -> None:
    assert REDACTOR.redact(HARMLESS) == (HARMLESS, 0, {})


def test_the_mask_says_the_kind_and_leaves_nothing_to_read() -> None:
    """warpdotdev/warp#6847: a struck-through value was still there to copy."""
    redacted = REDACTOR.redact(f"a ghp_{ALNUM[:36]} b password={SECRET}")
    assert redacted == (
        "a [redacted:github-token] b password=[redacted:password]",
        2,
        {"github-token": 1, "password": 1},
    )


def test_a_key_block_goes_as_a_whole() -> None:
    """warpdotdev/warp#6728: key blocks as a whole, and a visible count."""
    block = pem()
    assert REDACTOR.redact(f"before\n{block}\nafter").text == "before\n[redacted:private-key]\nafter"
    quoted = block.replace("\n", "\nweb_1 | ")
    assert not contains(REDACTOR.redact(f"web_1 | {quoted}\nweb_1 | done").text, block)
    lines = block.split("\n")
    cut_end = REDACTOR.redact("\n".join([*lines[:6], "make: *** [all] Error 1"])).text
    assert cut_end == "[redacted:private-key]\nmake: *** [all] Error 1"
    cut_begin = REDACTOR.redact("\n".join(["make: *** [all] Error 1", *lines[5:]])).text
    assert cut_begin == "make: *** [all] Error 1\n[redacted:private-key]"


BACKGROUND = HARMLESS.replace("-----BEGIN", "----").replace("-----END", "----")


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([s for secrets in TOKENS.values() for s in secrets]), st.integers(0, len(BACKGROUND)))
def test_a_token_is_found_wherever_it_stands(secret: str, at: int) -> None:
    text = BACKGROUND[:at] + secret + BACKGROUND[at:]
    redacted = REDACTOR.redact(text)
    assert not contains(redacted.text, secret)
    assert REDACTOR.redact(redacted.text) == (redacted.text, 0, {})


def test_the_length_of_a_masked_secret_does_not_matter_to_what_stands_around_it() -> None:
    text = f"http://127.0.0.1:{pem()}4873/@scope/pkg"
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once.text) == (once.text, 0, {})


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(IN_CONTEXT), st.integers(0, HARMLESS.count("\n")))
def test_a_named_secret_is_found_between_any_lines(case: tuple[str, str], at: int) -> None:
    lines = HARMLESS.split("\n")
    redacted = REDACTOR.redact("\n".join([*lines[:at], case[0], *lines[at:]]))
    assert not contains(redacted.text, case[1])
    assert REDACTOR.redact(redacted.text).count == 0


KEY_BORDERS = "-----BEGIN " + "PRIVATE KEY-----|-----END " + "PRIVATE KEY-----\n"
GLUE = "password|=|: |\"|'|\\|token|[redacted:x]|[redacted:|]|://|@|\n| |--|Bearer |authorization:|cookie: a=|a1B2|;"
FRAGMENTS = st.sampled_from([*(text for text, _ in IN_CONTEXT), *(secret for _, secret in FORMS), *GLUE.split("|")])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=12).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once.text) == (once.text, 0, {})
    assert once.count == sum(once.kinds.values()) == len(REDACTOR.find(text))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_masks_lie_in_the_text_in_order(text: str) -> None:
    masks = REDACTOR.find("password=" + text)
    assert all(0 <= m.start < m.end <= len(text) + 9 for m in masks)
    assert all(a.end <= b.start for a, b in itertools.pairwise(masks))


def test_literals_are_masked_wherever_they_are() -> None:
    redactor = Redactor(literals=["n0nce-123", "", "n0nce"])
    assert redactor.redact("an0nce-123b n0nce").text == "a[redacted:known-secret]b [redacted:known-secret]"


def test_patterns_of_the_user_are_masked() -> None:
    """warpdotdev/warp#6728, #10027: custom rules, also over lines."""
    redactor = Redactor([r"ACME-\d+", r"(?i)employee (?P<secret>\w+)", r"BEGIN X\n(?s:.*?)END X", "^top .*$"])
    text = "ref ACME-123, Employee bob\nBEGIN X\nanything\nEND X\ntop line"
    once = redactor.redact(text)
    assert once.text == "ref [redacted:custom], Employee [redacted:custom]\n[redacted:custom]\n[redacted:custom]"
    assert redactor.redact(once.text) == (once.text, 0, {})


def test_a_pattern_that_matches_masks_or_nothing_does_no_harm() -> None:
    redactor = Redactor([r"\[.*?\]", "x*", r"\w+"])
    once = redactor.redact("a [b] c")
    assert redactor.redact(once.text) == (once.text, 0, {})


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "[z-a]", "(?P<x>a)(?P<x>b)"])
def test_an_invalid_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="redaction pattern"):
        Redactor([pattern])


@pytest.mark.parametrize("pattern", ["(a+)+$", r"(\w*)*!", r"([\w-]+-)+x", r"(a|a)*b", r"(.*)*\d{9}!"])
def test_a_pattern_that_runs_away_is_refused(pattern: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="too long"):
        Redactor([pattern])
    assert time.process_time() - started < 5


HOSTILE = (
    'a|a.|password|password=|-|--a|eyJ|eyJaaaaaaaa.|://|://a:|sk-|AKIA|"|\\|<key| |authorization:|a=|xoxb-|curl -u |$1$'
    '|[redacted:|kind: Secret\ndata:\n a: b\n|"kind":"Secret" "data":{|name: key\n|cookie: a=|ghp_aaaa|M|\n|'
) + KEY_BORDERS


@pytest.mark.parametrize("unit", HOSTILE.split("|"))
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    REDACTOR.redact("warm up " + unit * 9)
    text = unit * (65536 // len(unit))
    started = time.process_time()
    REDACTOR.redact(text)
    assert time.process_time() - started < 2.0
