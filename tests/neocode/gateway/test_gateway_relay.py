"""Bindings and roles with a clock in the test's hand."""

from __future__ import annotations

from typing import Any

import pytest

from neocode.gateway.limits import Limits
from neocode.gateway.protocol import RpcError
from neocode.gateway.relay import Binding, Relay
from neocode.gateway.talks import Talks
from neocode.gateway.trigger import describe_shells, trigger


class Table:
    """A relay, its clock and what it said."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.unbound: list[str] = []
        self.delivered: list[tuple[str, str, str, Any]] = []
        self.relay: Relay[str] = Relay(Limits(), lambda: self.now, self.unbound.append)

    def trigger(self, peer: str, action: str, session_id: str = "", payload: Any = None) -> dict[str, Any]:
        def deliver(shell: Binding[str], action: str, source: str, payload: Any) -> bool:
            self.delivered.append((shell.peer, action, source, payload))
            return shell.peer != "dead"

        return trigger(self.relay, peer, action, session_id, payload, deliver, self.now)

    def refusal(self, peer: str, action: str, session_id: str = "") -> RpcError:
        with pytest.raises(RpcError) as error:
            self.trigger(peer, action, session_id)
        assert error.value.data["ok"] is False
        assert error.value.data["message"] == error.value.message
        assert error.value.code == -32602
        return error.value


@pytest.fixture
def table() -> Table:
    table = Table()
    table.relay.bind("shell", "sh-1", role="shell", state={"auto_enabled": True, "busy": False, "pid": 1})
    table.relay.bind("cli", "cli-1", role="cli")
    return table


@pytest.mark.parametrize("action", ["diagnose", "idm_enter", "auto_on", "auto_off"])
def test_an_action_is_queued_on_the_shell_and_then_acknowledged(table: Table, action: str) -> None:
    assert table.trigger("cli", action, "sh-1", {"n": 1}) == {
        "ok": True, "message": "delivered", "action": action, "delivered": 1, "payload": {"n": 1},
        "session_id": "sh-1", "source_session_id": "cli-1",
    }  # fmt: skip
    assert table.delivered == [("shell", action, "cli-1", {"n": 1})]


def test_without_a_session_id_the_only_shell_is_meant(table: Table) -> None:
    assert table.trigger("cli", "auto_on")["session_id"] == "sh-1"


def test_auto_status_is_answered_from_the_published_state_and_reaches_no_shell(table: Table) -> None:
    answer = table.trigger("cli", "auto_status")
    assert answer == {
        "ok": True, "action": "auto_status", "auto_enabled": True, "session_id": "sh-1", "source_session_id": "cli-1",
    }  # fmt: skip
    table.relay.bind("shell", "sh-1", role="shell", state={"auto_enabled": False})
    assert table.trigger("cli", "auto_status")["auto_enabled"] is False
    assert table.delivered == []


def test_no_shell_on_the_session(table: Table) -> None:
    error = table.refusal("cli", "diagnose", "sh-9")
    assert error.gateway_code == "resource_not_found"
    assert error.message == "no active shell for session sh-9: target role stream is unavailable"
    table.relay.drop("shell")
    assert table.refusal("cli", "diagnose").gateway_code == "resource_not_found"


def test_session_ids_are_compared_exactly(table: Table) -> None:
    assert table.refusal("cli", "diagnose", "SH-1").gateway_code == "resource_not_found"


def test_several_shells_and_none_named_lists_them(table: Table) -> None:
    table.relay.bind("other", "sh-2", role="shell", state={"pid": 2})
    error = table.refusal("cli", "diagnose")
    assert (error.gateway_code, error.message) == (
        "invalid_action",
        "multiple target role sessions are active, specify session_id",
    )
    assert error.data["shells"] == [
        {"auto_enabled": True, "busy": False, "pid": 1, "session_id": "sh-1"},
        {"pid": 2, "session_id": "sh-2"},
    ]
    assert describe_shells(table.relay) == error.data["shells"]
    assert table.trigger("cli", "diagnose", "sh-2")["session_id"] == "sh-2"


def test_a_shell_that_says_it_is_busy_takes_no_diagnose_but_other_actions(table: Table) -> None:
    table.relay.bind("shell", "sh-1", role="shell", state={"busy": True})
    error = table.refusal("cli", "diagnose")
    assert (error.gateway_code, error.message) == ("invalid_action", "shell busy: diagnosis in-flight")
    table.trigger("cli", "auto_off")


def test_a_second_diagnose_within_two_seconds_is_refused_until_the_shell_publishes(table: Table) -> None:
    table.trigger("cli", "diagnose")
    table.now += 1.9
    assert table.refusal("cli", "diagnose").message == "shell busy: diagnosis in-flight"
    table.relay.bind("shell", "sh-1", role="shell", state={"busy": False})
    table.trigger("cli", "diagnose")
    table.now += 2.0
    table.trigger("cli", "diagnose")
    assert len(table.delivered) == 3


def test_a_diagnose_that_did_not_reach_the_shell_makes_it_not_busy(table: Table) -> None:
    table.relay.drop("shell")
    table.relay.bind("dead", "sh-3", role="shell")
    assert table.refusal("cli", "diagnose", "sh-3").gateway_code == "resource_not_found"
    assert table.refusal("cli", "diagnose", "sh-3").gateway_code == "resource_not_found"


def test_unknown_actions_are_named(table: Table) -> None:
    error = table.refusal("cli", "reboot", "sh-1")
    assert (error.gateway_code, error.message) == ("invalid_action", "unknown action: reboot")


def test_only_cli_and_tui_may_trigger_and_a_tui_only_two_actions(table: Table) -> None:
    table.relay.bind("plain", "s")
    table.relay.bind("tui", "t", role="tui")
    for peer, action in [("plain", "diagnose"), ("nobody", "diagnose"), ("tui", "auto_on"), ("tui", "auto_status")]:
        error = table.refusal(peer, action, "sh-1")
        assert (error.gateway_code, error.message) == (
            "access_denied",
            "trigger_action requires cli/tui role binding",
        )
    assert table.trigger("tui", "diagnose", "sh-1")["ok"] is True
    assert table.trigger("tui", "idm_enter", "sh-1")["ok"] is True


def test_a_connection_that_ever_was_a_shell_may_never_trigger(table: Table) -> None:
    table.relay.bind("shell", "cli-2", role="cli")
    assert table.refusal("shell", "diagnose", "sh-1").gateway_code == "access_denied"
    table.relay.bind("shell", "sh-1", role="cli")
    table.relay.forget("shell", "sh-1")
    assert table.refusal("shell", "diagnose", "sh-1").gateway_code == "access_denied"


def test_of_two_connections_that_are_the_same_shell_the_newer_is_meant(table: Table) -> None:
    table.relay.bind("reconnected", "sh-1", role="shell")
    assert len(table.relay.shells()) == 1
    table.trigger("cli", "diagnose")
    assert table.delivered[0][0] == "reconnected"


def test_an_ask_binds_for_events_and_never_touches_a_role_or_a_state(table: Table) -> None:
    table.relay.bind_for_ask("shell", "sh-1")
    table.relay.bind_for_ask("shell", "diag-ask-1")
    assert [(shell.session_id, shell.state["pid"]) for shell in table.relay.shells()] == [("sh-1", 1)]
    assert table.relay.subscribers("diag-ask-1", "r") == ["shell"]


def test_events_reach_the_bindings_of_exactly_that_session_and_run_once(table: Table) -> None:
    table.relay.bind("a", "s")
    table.relay.bind("a", "s", "run-1")
    table.relay.bind("b", "s", "run-1")
    table.relay.bind("c", "S")
    assert table.relay.subscribers("s", "run-1") == ["a", "b"]
    assert table.relay.subscribers("s", "run-2") == ["a"]


def test_a_binding_lives_fifteen_minutes_unless_it_is_refreshed(table: Table) -> None:
    table.now += 899
    table.relay.touch("shell")
    table.now += 2
    assert [shell.session_id for shell in table.relay.shells()] == ["sh-1"]
    assert table.refusal("cli", "diagnose").gateway_code == "access_denied"
    assert table.unbound == []
    table.relay.sweep()
    assert table.unbound == ["cli-1"]
    table.now += 900
    assert table.relay.shells() == []
    assert not table.relay.is_bound("sh-1")
    table.relay.touch("shell")
    assert table.relay.shells() == []


def test_a_re_bind_without_state_keeps_it_and_another_role_loses_it(table: Table) -> None:
    table.relay.bind("shell", "sh-1", role="shell")
    assert table.relay.shells()[0].state["pid"] == 1
    table.relay.bind("shell", "sh-1", role="")
    table.relay.bind("shell", "sh-1", role="shell")
    assert table.relay.shells()[0].state == {}


def test_the_129th_binding_is_refused_but_old_talks_give_way(table: Table) -> None:
    for number in range(128):
        table.relay.bind("greedy", f"s-{number}")
    with pytest.raises(RpcError, match="too many bindings") as error:
        table.relay.bind("greedy", "one-more")
    assert error.value.gateway_code == "invalid_action"
    with pytest.raises(RpcError, match="too many bindings"):
        table.relay.bind_for_ask("greedy", "ask")
    table.relay.bind("greedy", "s-0", role="tui")
    for number in range(300):
        table.relay.bind_for_ask("shell", f"diag-ask-{number}")
    assert table.relay.is_bound("diag-ask-299")
    assert not table.relay.is_bound("diag-ask-0")
    assert table.relay.is_bound("sh-1")


def test_what_belongs_to_a_dropped_peer_is_gone_and_said_once(table: Table) -> None:
    table.relay.bind("a", "s")
    table.relay.bind("a", "s", "run")
    table.relay.bind("b", "s")
    table.relay.drop("a")
    assert table.unbound == []
    table.relay.drop("b")
    table.relay.drop("b")
    assert table.unbound == ["s"]
    assert table.relay.subscribers("s", "run") == []


def test_a_throw_away_talk_is_removed_only_after_its_time_without_a_client() -> None:
    talks = Talks(900.0)
    talks.used("diag-ask-1")
    talks.used("idm-1")
    talks.used("mine")
    talks.unbound("diag-ask-1", 0.0)
    talks.unbound("mine", 0.0)
    talks.unbound("diag-ask-unknown", 0.0)
    assert talks.abandoned(899.0, lambda session: False) == []
    assert talks.abandoned(900.0, lambda session: True) == []
    assert talks.abandoned(900.0, lambda session: False) == ["diag-ask-1"]
    talks.unbound("idm-1", 1000.0)
    talks.bound("idm-1")
    assert talks.abandoned(99_999.0, lambda session: False) == []
