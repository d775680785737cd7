"""Configuration and provider: is the file fit, which provider answers, and does the gateway have its key."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from neocode import paths
from neocode.doctor.check import Check, Situation
from neocode.errors import NeocodeError

if TYPE_CHECKING:
    from neocode.config import Config, ProviderConfig


def provider(situation: Situation) -> Iterator[Check]:
    """The configuration file, then the provider that it names."""
    from neocode.config.file import load_config

    path = paths.config_file()
    try:
        loaded = load_config()
    except NeocodeError as error:
        yield Check("config", "broken", error.message, error.hint or f"mend {path}, or move it away for the defaults")
        return
    for warning in loaded.warnings:
        yield Check("config", "warn", warning, f"edit {path}")
    if not loaded.warnings:
        yield Check("config", "ok", str(path) if path.exists() else f"no {path}, so the defaults hold")
    yield from _in_use(loaded.config, situation)


def _in_use(config: Config, situation: Situation) -> Iterator[Check]:
    entry = config.providers.get(config.provider)
    if entry is None:
        yield Check("provider", "ok", "offline: the built-in rules; nothing leaves this machine")
        return
    yield Check("provider", "ok", f"{config.provider}: {entry.model} at {entry.base_url}")
    yield _key(config.provider, entry, situation)
    if situation.online:
        yield _online(situation)
    else:
        yield Check("provider test", "ok", "not called", "neocode doctor --online calls it")


def _key(name: str, entry: ProviderConfig, situation: Situation) -> Check:
    """The gateway's environment decides, not this shell's."""
    from neocode.cli.settings import key_problem

    problem = key_problem(entry)
    if entry.api_key_env and not entry.api_key_file:
        environ = _gateway_environ(situation)
        if environ is not None:
            if environ.get(entry.api_key_env, "").strip():
                return Check("key", "ok", f"the gateway has {entry.api_key_env}")
            do = f"export {entry.api_key_env}=..., then " if problem else ""
            return Check(
                "key", "broken", f"the gateway was started without {entry.api_key_env}", f"{do}neocode gateway restart"
            )
        if not problem:
            return Check("key", "ok", f"{entry.api_key_env} is set here; a gateway started from here will have it")
        return Check("key", "broken", problem, f"export {entry.api_key_env}=... in your start-up file")
    if problem:
        return Check("key", "broken", problem, f"see providers.{name} in {paths.config_file()}")
    return Check("key", "ok", f"in {entry.api_key_file}" if entry.api_key_file else "none is needed")


def _gateway_environ(situation: Situation) -> dict[str, str] | None:
    """The environment of the running gateway; None when none runs or the system does not tell."""
    import psutil

    from neocode.doctor.gateway import status_of
    from neocode.gateway.endpoint import resolve_endpoint

    try:
        status = status_of(resolve_endpoint(situation.gateway, situation.token_file))
        return dict(psutil.Process(int(status["pid"])).environ())
    except (NeocodeError, OSError, KeyError, ValueError, psutil.Error):
        return None


def _online(situation: Situation) -> Check:
    from neocode.cli.settings import ask_gateway

    args = argparse.Namespace(gateway=situation.gateway, token_file=situation.token_file)
    try:
        answer = ask_gateway(args, "gateway.testProvider", "")
    except NeocodeError as error:
        return Check("provider test", "broken", error.message, error.hint)
    return Check("provider test", "ok", str(answer.get("message", "it answers")))
