"""What the docker client and kubectl really print without a daemon or a cluster."""

from __future__ import annotations

import socket
from typing import Any

import pytest


def test_a_daemon_that_is_not_there_is_to_be_started(tools: Any) -> None:
    socket = f"unix://{tools.directory}/none.sock"
    fault = tools.expect("docker-daemon-down", ["docker", "-H", socket, "ps"])
    assert fault.fix == ("sudo systemctl start docker",)


def test_compose_without_its_plugin_or_its_file_is_told(tools: Any) -> None:
    _, code = tools.run(["docker", "compose", "version"])
    rule = "docker-compose-no-file" if code == 0 else "docker-compose-missing"
    tools.expect(rule, ["docker", "compose", "up"])


def test_a_refused_api_server_is_told_with_its_port(tools: Any, closed_port: int) -> None:
    fault = tools.expect("k8s-server-refused", ["kubectl", "-s", f"http://127.0.0.1:{closed_port}", "get", "pods"])
    assert f"127.0.0.1:{closed_port}" in fault.cause


def test_kubectl_without_a_config_is_told(tools: Any) -> None:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 8080)) == 0:
            pytest.skip("something listens on kubectl's built-in default port")
    tools.expect("k8s-no-cluster-config", ["kubectl", "get", "pods", "--request-timeout=5s"])


def test_a_context_that_does_not_exist_is_told(tools: Any) -> None:
    tools.expect("k8s-context-missing", ["kubectl", "config", "use-context", "staging"])


def test_an_unknown_flag_leads_to_the_help_of_its_command(tools: Any) -> None:
    fault = tools.expect("k8s-unknown-flag", ["kubectl", "get", "pods", "--namspace", "x"])
    assert "kubectl get --help" in fault.check


def test_an_unknown_command_is_told(tools: Any) -> None:
    tools.expect("k8s-unknown-command", ["kubectl", "frob"])


def test_a_missing_manifest_is_told(tools: Any) -> None:
    tools.expect("k8s-manifest-path", ["kubectl", "apply", "-f", "web.yaml"])


def test_a_manifest_that_is_no_yaml_is_told(tools: Any) -> None:
    tools.write({"web.yaml": "a: [\n"})
    tools.expect("k8s-manifest-yaml", ["kubectl", "apply", "-f", "web.yaml"])
