"""What java, javac and Maven really print."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest

POM = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    "<groupId>a</groupId><artifactId>b</artifactId><version>1</version>{more}</project>"
)
NO_VERSION = (
    "<dependencies><dependency><groupId>com.nope</groupId><artifactId>nope</artifactId></dependency></dependencies>"
)
MAIN = "public class A {{ public static void main(String[] a) throws Exception {{ {body} }} }}\n"

COMMANDS = [
    ("java-main-class", {}, "java Hello"),
    ("java-jar-missing", {}, "java -jar app.jar"),
    ("java-vm-options", {}, "java -XX:MaxPermSizes=256m -version"),
    ("javac-symbol", {"A.java": MAIN.format(body="foo();")}, "javac A.java"),
    ("javac-package", {"A.java": "import com.nope.Foo;\npublic class A { }\n"}, "javac A.java"),
    ("javac-error", {"A.java": MAIN.format(body='int x = "a";')}, "javac A.java"),
    ("java-release-unsupported", {"A.java": "class A { }\n"}, "javac --release 99 A.java"),
    ("java-exception", {"A.java": MAIN.format(body="String s = null; s.length();")}, "java A.java"),
    ("java-class-missing", {"A.java": MAIN.format(body='Class.forName("com.x.Y");')}, "java A.java"),
    (
        "java-heap",
        {"A.java": MAIN.format(body="byte[][] b = new byte[9000][]; for (int i = 0; ; i++) b[i] = new byte[1 << 20];")},
        "java -Xmx48m A.java",
    ),
    (
        "java-port-in-use",
        {
            "A.java": MAIN.format(
                body="var s = new java.net.ServerSocket(0); new java.net.ServerSocket(s.getLocalPort());"
            )
        },
        "java A.java",
    ),
    ("maven-no-pom", {}, "mvn -o -B package"),
    ("maven-phase", {"pom.xml": POM.format(more="")}, "mvn -o -B pakage"),
    ("maven-artifact", {"pom.xml": POM.format(more="")}, "mvn -o -B -Dmaven.repo.local=repo package"),
    ("maven-pom-invalid", {"pom.xml": POM.format(more=NO_VERSION)}, "mvn -o -B package"),
]


@pytest.mark.parametrize(("rule", "files", "command"), COMMANDS, ids=[rule for rule, _, _ in COMMANDS])
def test_the_real_tool_gives_the_rule(rule: str, files: dict[str, str], command: str, tools: Any) -> None:
    tools.write(files)
    tools.expect(rule, command.split())


def test_a_jar_without_a_main_class_is_told(tools: Any) -> None:
    with zipfile.ZipFile(tools.directory / "app.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n\n")
    fault = tools.expect("java-no-main-manifest", ["java", "-jar", "app.jar"])
    assert fault.fix == ("java -cp app.jar PACKAGE.MainClass",)


def test_a_class_of_a_newer_java_is_told(tools: Any) -> None:
    tools.write({"V.java": "public class V { public static void main(String[] a) { } }\n"})
    tools.run(["javac", "V.java"])
    compiled = tools.directory / "V.class"
    code = bytearray(compiled.read_bytes())
    code[6:8] = b"\x00\x7f"  # the major version, JVMS 4.1
    compiled.write_bytes(code)
    tools.expect("java-class-version", ["java", "-cp", ".", "V"])
