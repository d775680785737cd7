"""What make, CMake, ninja, gcc and ld really print."""

from __future__ import annotations

from typing import Any

import pytest

CMAKE = "cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n"

FAILURES = [
    ("make-missing-separator", {"Makefile": "all:\n    echo hi\n"}, "make"),
    ("make-no-makefile", {}, "make"),
    ("make-no-target", {"Makefile": "all:\n\techo hi\n"}, "make biuld"),
    ("make-no-rule-needed", {"Makefile": "all: util.o\n\techo\n"}, "make"),
    ("make-command-missing", {"Makefile": "all:\n\tfrobnicate-xyz out\n"}, "make"),
    ("make-error", {"Makefile": "all:\n\t@sh -c 'exit 3'\n"}, "make"),
    ("cmake-no-cmakelists", {}, "cmake -B build"),
    ("cmake-package-missing", {"CMakeLists.txt": CMAKE + "find_package(Frobnicate REQUIRED)\n"}, "cmake -B build"),
    ("cmake-too-old", {"CMakeLists.txt": "cmake_minimum_required(VERSION 99.1)\nproject(x NONE)\n"}, "cmake -B build"),
    ("cmake-generator-unknown", {"CMakeLists.txt": CMAKE}, "cmake -B build -G NoSuchGenerator"),
    (
        "cmake-source-missing",
        {"CMakeLists.txt": CMAKE.replace("NONE", "C") + "add_executable(t nosuch.c)\n"},
        "cmake -B build",
    ),
    ("cmake-no-build-dir", {}, "cmake --build build"),
    ("ninja-no-build-file", {}, "ninja"),
    ("c-header-missing", {"a.c": "#include <frob/nope.h>\n"}, "gcc a.c"),
    ("c-source-missing", {}, "gcc nosuch.c"),
    ("ld-library-missing", {"a.c": "int main(void){return 0;}\n"}, "gcc a.c -lnopelib"),
    ("ld-no-main", {"a.c": "int f(void){return 1;}\n"}, "gcc a.c"),
    (
        "ld-undefined-math",
        {"a.c": "#include <math.h>\nint main(int c,char**v){(void)v;return (int)cbrt(c+.5);}\n"},
        "gcc a.c",
    ),
    ("ld-vtable", {"a.cpp": "struct A { virtual void f(); }; A a; int main(){}\n"}, "g++ a.cpp"),
    ("ld-undefined", {"a.c": "int parse(void);int main(void){return parse();}\n"}, "gcc a.c"),
    (
        "ld-multiple-definition",
        {"a.c": "int verbose(void){return 1;}\n", "b.c": "int verbose(void){return 2;}\nint main(void){return 0;}\n"},
        "gcc a.c b.c",
    ),
    ("c-option-unknown", {"a.c": "int main(void){return 0;}\n"}, "gcc -frobnicate a.c"),
    ("cxx-std-header", {"a.cpp": "int main(){ std::cout << 1; }\n"}, "g++ a.cpp"),
    ("c-undeclared", {"a.c": "int main(void){ cuonter++; }\n"}, "gcc a.c"),
    ("c-syntax", {"a.c": "int main(void){int x=1\n return x;}\n"}, "gcc a.c"),
    ("c-werror", {"a.c": "int main(void){int n; return 0;}\n"}, "gcc -Wall -Werror a.c"),
    ("pkg-config-missing", {}, "pkg-config --cflags nosuchlib"),
]


@pytest.mark.parametrize(("rule", "files", "command"), FAILURES, ids=[rule for rule, _, _ in FAILURES])
def test_the_real_tool_gives_the_rule(rule: str, files: dict[str, str], command: str, tools: Any) -> None:
    tools.write(files)
    tools.expect(rule, command.split())


def test_a_header_that_no_table_knows_installs_nothing(tools: Any) -> None:
    tools.write({"a.c": "#include <nosuchdir/openssl/ssl.h>\n"})
    assert tools.expect("c-header-missing", ["gcc", "a.c"]).fix == ()


def test_a_copied_build_directory_is_configured_afresh(tools: Any) -> None:
    tools.write({"a/CMakeLists.txt": CMAKE, "b/CMakeLists.txt": CMAKE})
    tools.run(["cmake", "-S", "a", "-B", "a/build"])
    tools.run(["cp", "-r", "a/build", "b/build"])
    fault = tools.expect("cmake-cache-moved", ["cmake", "-S", "b", "-B", "b/build"])
    assert fault.fix == (f"cmake --fresh -S . -B {tools.directory}/b/build",)


def test_a_program_without_its_library_is_explained(tools: Any) -> None:
    tools.write({"lib.c": "int f(void){return 1;}\n", "a.c": "int f(void);int main(void){return f();}\n"})
    tools.run(["gcc", "-shared", "-fPIC", "lib.c", "-o", "libown.so"])
    tools.run(["gcc", "a.c", "-L.", "-lown", "-o", "prog"])
    tools.expect("shared-library-missing", ["sh", "-c", "./prog"])
