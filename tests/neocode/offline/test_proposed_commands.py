"""No rule proposes a command that destroys data, opens a hole, or runs what it downloads."""

from __future__ import annotations

import re

import pytest

from neocode.providers.offline.load import rules as all_rules
from neocode.providers.offline.rule import Rule

FORBIDDEN = {
    "deletes trees": r"\brm\s+-(?!\w*i)\w*[rR]|\brmdir\s+/s|\bRemove-Item\b.*-Recurse|\bdel\s+/s|\bfind\b.*-delete",
    "overwrites disks": r"\bmkfs|\bdd\s+if=|\bformat\s+[A-Za-z]:|\bdiskpart\b",
    "rewrites history": r"\bpush\b.*(?:\s-f\b|--force(?!-with-lease))|\bgit\s+clean\s+-\w*f",
    "opens permissions": r"\bchmod\b.*\b777\b|\bicacls\b.*\bEveryone\b",
    "runs a download": r"\b(?:curl|wget|irm|iwr)\b.*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\|\s*iex\b",
    "prunes volumes": r"\bprune\b.*(?:--volumes|-a\b|--all)|\bdown\b.*(?:-v\b|--volumes)",
    "switches checks off": r"--insecure|(?:curl|curl\.exe)\s+-k\b|StrictHostKeyChecking=no|--no-check-certificate"
    r"|sslVerify\s+false|--allow-unauthenticated|--trusted-host|NODE_TLS_REJECT_UNAUTHORIZED=0",
    "kills without asking": r"\bkill\s+-9|\bkill\s+-KILL|\btaskkill\b.*/F\b|\bkillall\b",
    "deletes locks": r"\brm\b.*(?:/var/|dpkg|apt).*lock",
}
# replace what is there, so a comment line before them says what is lost
NEEDS_A_WARNING = r"\bdocker rm\b|\breplace --force\b|\blink --overwrite FORMULA\b|\bapt(?:-get)? (?:remove|purge)\b"


# programs that only show something; `find . -name 'PATTERN'` is the user's own command put right
ONLY_LOOKS = re.compile(
    r"(?:sudo )?(?:(?:df|du|ls|ss|ps|id|pwd|cat|file|free|stat|head|tail|grep|findstr|nm|ldd|lsof|namei|netstat|dig|nc"
    r"|nslookup|getent|ping|dmesg|journalctl|tasklist|where|which|dir|systeminfo)(?= |$)|find (?!.*'PATTERN')"
    r"|(?:Get|Test|Resolve)-\w+|rustc --explain|kubectl (?:get|describe|logs)|ssh -[vG] |systemctl status)"
    r"(?!.*(?:\bxargs\b|-exec\b|\bkill|\bPROGRAM\b))"
)


# the registry itself said that the package exists: only the version asked for does not
CONFIRMED_BY_THE_REGISTRY = {"npm-etarget"}


def _lists(rule: Rule) -> list[tuple[str, ...]]:
    return [*rule.fix.values(), *rule.check.values()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_rule_proposes_a_command_that(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    hits = [(rule.id, line) for rule in all_rules() for lines in _lists(rule) for line in lines if pattern.search(line)]
    assert hits == []


def test_a_command_that_only_looks_is_a_check_and_no_fix() -> None:
    assert ONLY_LOOKS.match("sudo ss -ltnp")
    assert not ONLY_LOOKS.match("lsof -ti tcp:1 -sTCP:LISTEN | xargs kill")
    looks = [(rule.id, line) for rule in all_rules() for lines in rule.fix.values() for line in lines]
    assert [(rule, line) for rule, line in looks if ONLY_LOOKS.match(line)] == []


def test_what_replaces_something_comes_last_behind_a_comment() -> None:
    for rule in all_rules():
        for lines in _lists(rule):
            risky = [index for index, line in enumerate(lines) if re.search(NEEDS_A_WARNING, line)]
            for index in risky:
                assert index > 0, rule.id
                assert lines[index - 1].startswith("#"), rule.id


def test_a_package_named_by_the_log_is_never_installed_with_high_confidence() -> None:
    install = re.compile(
        r"\b(?:install|Install-Module|cargo add|go get)\b[^|;]*\{(?:name|module|package|crate|right)\}"
    )
    for rule in all_rules():
        if rule.id in CONFIRMED_BY_THE_REGISTRY:
            continue
        if any(install.search(line) for lines in _lists(rule) for line in lines):
            assert rule.confidence != "high", rule.id
