"""The estimate against what real tokenisers count, and texts shortened to it.

`SAMPLES` holds texts with the counts of cl100k_base, o200k_base, Qwen, DeepSeek V3 and Gemma 3 (taken once, by those
tokenisers).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.ask.tokens import cut_chars, cut_tokens, estimate_tokens

SAMPLES: dict[str, tuple[str, tuple[int, int, int, int, int]]] = {
    "english prose": (
        "The command failed because nothing is listening on the port that the package manager was t"
        "old to use as its registry. Start the local registry first, or point the client back at th"
        "e public one, and then run the installation again. If you are behind a company proxy, ask "
        "the person who runs it whether the address has changed recently.",
        (66, 66, 66, 66, 66),
    ),
    "markdown answer": (
        "## Cause\n"
        "The registry at 127.0.0.1:4873 refuses connections because Verdaccio is not running.\n"
        "\n"
        "npm is configured to use a local registry, and nothing listens there.\n"
        "\n"
        "## Fix\n"
        "```sh\n"
        "npm config set registry https://npm.example.com/\n"
        "npm install\n"
        "```\n"
        "\n"
        "## Check\n"
        "```sh\n"
        "npm config get registry\n"
        "curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:4873/\n"
        "```\n"
        "\n"
        "## Confidence\n"
        "high - the log names the address and the error code.\n",
        (119, 118, 127, 116, 135),
    ),
    "npm log": (
        "npm ERR! code ECONNREFUSED\n"
        "npm ERR! syscall connect\n"
        "npm ERR! errno ECONNREFUSED\n"
        "npm ERR! FetchError: request to http://127.0.0.1:4873/left-pad failed, reason: connect ECO"
        "NNREFUSED 127.0.0.1:4873\n"
        "npm ERR!     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/node_modules/minipass"
        "-fetch/lib/index.js:130:14)\n"
        "npm ERR!     at ClientRequest.emit (node:events:517:28)\n"
        "npm ERR!     at Socket.socketErrorListener (node:_http_client:501:9)\n"
        "npm ERR! A complete log of this run can be found in: /home/dev/.npm/_logs/2024-05-03T11_42"
        "_10_113Z-debug-0.log\n",
        (175, 176, 200, 190, 222),
    ),
    "python traceback": (
        "Traceback (most recent call last):\n"
        '  File "/srv/app/manage.py", line 22, in <module>\n'
        "    main()\n"
        '  File "/srv/app/.venv/lib/python3.11/site-packages/django/core/management/__init__.py", l'
        "ine 442, in execute_from_command_line\n"
        "    utility.execute()\n"
        '  File "/srv/app/.venv/lib/python3.11/site-packages/psycopg2/__init__.py", line 122, in co'
        "nnect\n"
        "    conn = _connect(dsn, connection_factory=connection_factory, **kwasync)\n"
        'django.db.utils.OperationalError: connection to server at "db.internal" (10.0.3.17), port '
        "5432 failed: Connection refused\n",
        (149, 152, 160, 165, 187),
    ),
    "gcc log": (
        "/usr/bin/ld: build/main.o: in function `parse_header':\n"
        "main.c:(.text+0x1a4): undefined reference to `png_create_read_struct'\n"
        "/usr/bin/ld: main.c:(.text+0x1f2): undefined reference to `inflateInit2_'\n"
        "collect2: error: ld returned 1 exit status\n"
        "make[2]: *** [CMakeFiles/viewer.dir/build.make:97: viewer] Error 1\n"
        "make[1]: *** [CMakeFiles/Makefile2:83: CMakeFiles/viewer.dir/all] Error 2\n"
        "make: *** [Makefile:91: all] Error 2\n",
        (140, 141, 143, 143, 154),
    ),
    "kube log with stamps": (
        "2024-05-03T11:42:10.113284Z 7f3a9c2d-11ee-4b1f-9d3a-0242ac120002 E0503 11:42:10.113 1 refl"
        "ector.go:147] pkg/mod/k8s.io/client-go@v0.29.3/tools/cache/reflector.go:229: Failed to wat"
        "ch *v1.Pod: dial tcp 10.96.0.1:443: i/o timeout\n"
        "2024-05-03T11:42:11.427731Z sha256:9b2d1f0c7e5a4d3b8c6f1e0a9d8c7b6a5f4e3d2c1b0a99887766554"
        "433221100 pulling registry.example.com:5000/team/api:1.4.2-rc3\n",
        (200, 200, 262, 206, 277),
    ),
    "json line": (
        '{"level":"error","ts":1714736530.113,"caller":"etcdserver/server.go:2049","msg":"failed to'
        ' publish local member","local-member-id":"8e9e05c52164694d","request-path":"/0/members/8e9'
        'e05c52164694d/attributes","error":"etcdserver: request timed out"}\n'
        '{"level":"error","ts":1714736530.113,"caller":"etcdserver/server.go:2049","msg":"failed to'
        ' publish local member","local-member-id":"8e9e05c52164694d","request-path":"/0/members/8e9'
        'e05c52164694d/attributes","error":"etcdserver: request timed out"}\n'
        '{"level":"error","ts":1714736530.113,"caller":"etcdserver/server.go:2049","msg":"failed to'
        ' publish local member","local-member-id":"8e9e05c52164694d","request-path":"/0/members/8e9'
        'e05c52164694d/attributes","error":"etcdserver: request timed out"}\n',
        (234, 237, 300, 240, 321),
    ),
    "chinese prose": (
        "命令失败的原因是本地的软件包仓库没有启动，所以客户端无法连接到配置里写的地址。请先启动仓库服务，或者把客户端改回官方的地址，然后重新安装依赖。如果你在公司的代理后面，请联系管理员确"
        "认地址最近有没有变更。",
        (91, 62, 56, 54, 56),
    ),
    "chinese mixed": (
        "为什么 npm install 会报 ECONNREFUSED 127.0.0.1:4873？我已经把 registry 改成 https://npm.example"
        ".cn 了，package.json 里也没有写死地址，请问还要检查哪里？",
        (62, 52, 54, 51, 54),
    ),
    "chinese windows": (
        "'pyhton' 不是内部或外部命令，也不是可运行的程序\n"
        "或批处理文件。\n"
        "系统找不到指定的路径。\n"
        "拒绝访问。\n"
        "另一个程序正在使用此文件，进程无法访问。\n",
        (64, 48, 42, 40, 44),
    ),
    "japanese": (
        "コマンドが失敗したのは、ローカルのパッケージレジストリが起動していないためです。サービスを開始してから、もう一度インストールを実行してください。",
        (61, 48, 45, 42, 29),
    ),
    "korean": (
        "명령이 실패한 이유는 로컬 패키지 저장소가 실행되고 있지 않기 때문입니다. "
        "서비스를 먼저 시작한 다음 설치를 다시 실행하세요.",
        (55, 35, 37, 42, 32),
    ),
    "russian": (
        "Команда завершилась с ошибкой, потому что локальный реестр пакетов не запущен. Сначала зап"
        "устите службу, затем повторите установку.",
        (56, 34, 44, 40, 33),
    ),
    "german": (
        "Der Befehl ist fehlgeschlagen, weil unter der eingestellten Adresse kein Dienst läuft. Übe"
        "rprüfen Sie zuerst die Konfigurationsdatei und führen Sie anschließend die Installation er"
        "neut aus.",
        (52, 40, 52, 48, 37),
    ),
    "emoji progress": (
        "✔ done 🎉 🚀 building… ━━━━━━━━━━━━━━━━━ 100% 0:00:12 ✖ 3 problems ⚠️ ⠋⠙⠹⠸ █████████░░░░ 65%\n",
        (59, 51, 61, 56, 58),
    ),
    "base64": (
        "TUlJRXZRSUJBREFOQmdrcWhraUc5dzBCQVFFRkFBU0NCS2N3Z2dTakFnRUFBb0lCQVFDN1ZKVFV0OVVzOGNLakxzQm"
        "9FdkJwSGJUMnFzeFlQaFRLYVdtRjVvS3lZdz09\n"
        "TUlJRXZRSUJBREFOQmdrcWhraUc5dzBCQVFFRkFBU0NCS2N3Z2dTakFnRUFBb0lCQVFDN1ZKVFV0OVVzOGNLakxzQm"
        "9FdkJwSGJUMnFzeFlQaFRLYVdtRjVvS3lZdz09\n",
        (186, 170, 188, 180, 170),
    ),
}
TEXT = st.text(st.characters(), max_size=300)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_estimate_is_near_what_real_tokenisers_count(name: str) -> None:
    text, counts = SAMPLES[name]
    estimate = estimate_tokens(text)
    assert 0.75 * max(counts) <= estimate <= 1.15 * max(counts)
    assert 0.85 <= estimate / (sum(counts) / len(counts)) <= 1.5


def test_chinese_counts_about_three_times_what_as_many_latin_letters_do() -> None:
    assert estimate_tokens("错" * 100) == 90
    assert estimate_tokens("a" * 100) == 25


@given(TEXT, TEXT)
def test_the_estimate_of_a_whole_is_never_above_that_of_its_parts(first: str, second: str) -> None:
    assert estimate_tokens(first + second) <= estimate_tokens(first) + estimate_tokens(second)
    assert estimate_tokens(first + second) >= estimate_tokens(first)


@given(TEXT.map(lambda text: text * 9), st.integers(0, 400))
def test_a_shortened_text_keeps_its_limit(text: str, limit: int) -> None:
    shortened = cut_tokens(text, limit)
    assert estimate_tokens(shortened) <= limit
    assert (shortened == text) == (estimate_tokens(text) <= limit) or text == ""
    assert len(cut_chars(text, limit)) <= limit or limit >= len(text)


def test_a_shortened_text_keeps_head_and_tail_on_whole_lines_and_says_so() -> None:
    text = "".join(f"line {number} of the build\n" for number in range(2000))
    shortened = cut_tokens(text, 400)
    lines = shortened.splitlines()
    (mark,) = [line for line in lines if line.startswith("[...")]
    assert f"{len(text)} characters" in mark
    assert lines[0] == "line 0 of the build"
    assert lines[-1] == "line 1999 of the build"
    assert set(lines) - {mark} <= set(text.splitlines())
    assert estimate_tokens(shortened) > 300
