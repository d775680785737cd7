"""One ask from `submit` to its one terminal event, whatever the provider does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from neocode.ask.answer import BROKEN_LABEL, LENGTH_LABEL, TIMEOUT_LABEL
from neocode.ask.types import AskRefused
from neocode.errors import ConfigError, ProviderError
from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message

LOG = "npm ERR! code ECONNREFUSED 127.0.0.1:4873"


def test_deltas_concatenated_equal_the_full_response(opened: Any, scripted: Any, answering: Any) -> None:
    async def main() -> None:
        async with opened(scripted(answering("## Cau", "se\n", "端口", "", " 🌍\r\n\tend "))) as caller:
            ticket = caller.submit(LOG, skills=("terminal-diagnosis",))
            end = await caller.end(ticket)
            assert end.event_type == "ask_done"
            assert caller.text(ticket).encode() == end.payload["full_response"].encode()
            assert end.payload == {
                "session_id": "s-1",
                "full_response": "## Cause\n端口 🌍\r\n\tend ",
                "compacted": False,
                "usage": {"input_tokens": 11, "output_tokens": 7},
                "provider": "scripted",
                "model": "scripted-model",
                "finish_reason": "stop",
            }
            assert [event.event_type for event in caller.of(ticket)] == ["ask_chunk"] * 4 + ["ask_done"]

    asyncio.run(main())


def test_nothing_is_emitted_before_submit_returned(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        async with opened(scripted()) as caller:
            ticket = caller.submit()
            assert caller.events == []
            await caller.end(ticket)

    asyncio.run(main())


def test_ids_are_made_by_us_when_none_is_given(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        async with opened(scripted()) as caller:
            first, second = caller.submit(session_id=""), caller.submit(session_id="")
            assert first.session_id != second.session_id
            assert first.session_id.startswith("ask-")
            assert int(first.session_id[4:], 16) >= 0
            prefix, _, number = first.run_id.rpartition("-")
            assert prefix.startswith("ask-run-")
            assert second.run_id == f"{prefix}-{int(number) + 1}"
            await asyncio.gather(caller.end(first), caller.end(second))

    asyncio.run(main())


def test_a_log_as_the_question_of_a_first_diagnosis_is_taken_as_the_log(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        provider = scripted()
        async with opened(provider) as caller:
            await caller.ask(LOG, skills=("terminal-diagnosis",))
            await caller.ask("and on Windows?", skills=("terminal-diagnosis",))
            await caller.ask(LOG, session_id="other")
        first, second, other = provider.requests
        assert (first.context.log, first.question, first.diagnosis) == (LOG, "", True)
        assert (second.context.log, second.question, second.diagnosis) == ("", "and on Windows?", False)
        assert (other.context.log, other.question, other.diagnosis) == ("", LOG, False)

    asyncio.run(main())


def test_a_follow_up_sees_the_turns_before_it_as_chat_turns(opened: Any, scripted: Any) -> None:
    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("", reasoning="hm, ")
        yield Delta("", reasoning="a port")
        yield Delta("start it")
        yield Finish()

    async def main() -> None:
        provider = scripted(script)
        async with opened(provider) as caller:
            context = AskContext(log=LOG, command="npm i", shell="fish", lang="zh-CN")
            await caller.ask("what is this?", context=context)
            end = await caller.ask("how?")
            assert end.payload["full_response"] == "start it"
        messages = provider.requests[1].messages
        assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
        assert messages[2] == Message("assistant", "start it", "hm, a port")
        assert messages[3] == Message("user", "how?")
        assert LOG in messages[1].content
        assert messages[1].content.endswith("what is this?")
        assert (provider.requests[1].context.shell, provider.requests[1].context.lang) == ("fish", "zh-CN")
        assert "Answer in Chinese (zh-CN)." in messages[0].content

    asyncio.run(main())


def test_a_cut_stream_keeps_its_text_labelled_and_ends_in_provider_error(opened: Any, scripted: Any) -> None:
    """can1357/oh-my-pi#2177: a stream that ends without a finish must not pass for an answer."""

    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("## Fix\n```sh\nrm -rf /tmp/a")
        raise ProviderError("PROVIDER_ERROR", "the stream broke", "try again", partial=True)

    async def main() -> None:
        async with opened(scripted(script)) as caller:
            ticket = caller.submit()
            end = await caller.end(ticket)
            expected = {
                "session_id": "s-1",
                "code": "PROVIDER_ERROR",
                "message": "the stream broke",
                "hint": "try again",
            }
            assert end.payload == expected
            assert caller.text(ticket) == f"## Fix\n```sh\nrm -rf /tmp/a\n# {BROKEN_LABEL}"
            assert caller.service.sessions() == []

    asyncio.run(main())


def test_a_stream_without_finish_is_a_cut_stream(opened: Any, scripted: Any) -> None:
    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("half an ans")

    async def main() -> None:
        async with opened(scripted(script)) as caller:
            ticket = caller.submit()
            end = await caller.end(ticket)
            assert (end.event_type, end.payload["code"]) == ("ask_error", "PROVIDER_ERROR")
            assert caller.text(ticket) == f"half an ans\n\n{BROKEN_LABEL}"

    asyncio.run(main())


def test_an_answer_at_the_output_limit_is_done_and_labelled(opened: Any, scripted: Any) -> None:
    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("a long ans")
        yield Finish(reason="length")

    async def main() -> None:
        async with opened(scripted(script)) as caller:
            ticket = caller.submit()
            end = await caller.end(ticket)
            assert (end.event_type, end.payload["finish_reason"]) == ("ask_done", "length")
            assert caller.text(ticket) == end.payload["full_response"] == f"a long ans\n\n{LENGTH_LABEL}"

    asyncio.run(main())


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_an_empty_answer_is_an_error(opened: Any, scripted: Any, reason: Any) -> None:
    """pollinations/pollinations#1895: only reasoning arrived, and the answer was shown as a blank success."""

    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("", reasoning="let me think")
        yield Delta(" \n")
        yield Finish(reason=reason)

    async def main() -> None:
        async with opened(scripted(script)) as caller:
            end = await caller.ask()
            assert (end.event_type, end.payload["code"]) == ("ask_error", "PROVIDER_ERROR")
            assert ("limit" in end.payload["message"]) == (reason == "length")

    asyncio.run(main())


@pytest.mark.parametrize("code", ["TIMEOUT", "RATE_LIMITED", "PROVIDER_ERROR"])
def test_a_provider_error_keeps_its_code_and_leaves_no_turn(
    opened: Any, scripted: Any, answering: Any, code: Any
) -> None:
    async def failing(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        for error in [ProviderError(code, "no\nanswer", "wait")]:
            raise error
        yield Finish()

    async def main() -> None:
        provider = scripted(failing)
        async with opened(provider) as caller:
            end = await caller.ask("first", skills=("terminal-diagnosis",))
            assert (end.payload["code"], end.payload["message"]) == (code, "no answer")
            provider.script = answering("fine")
            await caller.ask("second", skills=())
        last = provider.requests[-1].messages
        assert [message.content for message in last[1:]] == ["second"]
        assert "Terminal diagnosis" not in last[0].content

    asyncio.run(main())


def test_an_unexpected_exception_is_one_line_and_its_text_is_not_logged(
    opened: Any, scripted: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """TheR1D/shell_gpt#17: a traceback with locals showed the prompt, and sometimes the key."""

    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("some")
        raise KeyError("sk-verysecret")

    async def main() -> None:
        async with opened(scripted(script)) as caller:
            ticket = caller.submit("what is hunter2?")
            end = await caller.end(ticket)
            assert end.payload["code"] == "INTERNAL_ERROR"
            assert "KeyError" in end.payload["message"]
            assert "\n" not in end.payload["message"]
            assert caller.text(ticket).endswith(BROKEN_LABEL)
            assert "verysecret" not in str(end.payload)

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(logged) == 1
    assert "KeyError" in logged[0]
    assert "test_ask_service.py" in logged[0]
    assert "verysecret" not in caplog.text
    assert "hunter2" not in caplog.text


def test_a_provider_that_cannot_be_made_is_an_error_of_the_ask(opened: Any, scripted: Any) -> None:
    def broken(config: object, name: str) -> Any:
        raise ConfigError("the variable WORK_KEY is not set", "export it and restart the gateway")

    async def main() -> None:
        async with opened(scripted(), make_provider=broken) as caller:
            for _ in range(2):
                end = await caller.ask()
                assert end.payload["code"] == "PROVIDER_ERROR"
                assert "WORK_KEY" in end.payload["message"]
                assert "export" in end.payload["hint"]

    asyncio.run(main())


def test_an_emit_that_raises_does_not_keep_the_turn_from_being_stored(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        async with opened(scripted()) as caller:
            calls = []

            def bad_emit(event: Any) -> None:
                calls.append(event.event_type)
                raise RuntimeError("connection gone")

            from neocode.ask.types import AskParams

            caller.service.submit(AskParams(user_query="q", session_id="s-1"), bad_emit)
            await caller.ask("again")
            assert calls == ["ask_chunk", "ask_done"]
            assert [info.title for info in caller.service.sessions()] == ["q"]

    asyncio.run(main())


def test_the_deadline_ends_an_ask_with_timeout_and_labels_its_text(opened: Any, scripted: Any) -> None:
    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("slow")
        await asyncio.Event().wait()

    async def main() -> None:
        provider = scripted(script)
        async with opened(provider, deadline_sec=0.2) as caller:
            ticket = caller.submit()
            end = await caller.end(ticket)
            assert end.payload["code"] == "TIMEOUT"
            assert caller.text(ticket) == f"slow\n\n{TIMEOUT_LABEL}"
            assert len(caller.ends(ticket)) == 1
            assert caller.service.running() == {}
        assert provider.open_streams == 0

    asyncio.run(main())


def test_an_answer_without_end_stops_at_the_size_of_a_frame(opened: Any, scripted: Any) -> None:
    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        while True:
            yield Delta("\x01" * 5000)
            await asyncio.sleep(0)

    async def main() -> None:
        provider = scripted(script)
        async with opened(provider) as caller:
            end = await caller.ask()
            assert end.payload["finish_reason"] == "length"
            import msgspec

            assert len(msgspec.json.encode(end)) < 900 * 1024
        assert provider.open_streams == 0

    asyncio.run(main())


def test_a_refused_ask_says_why(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        async with opened(scripted()) as caller:
            with pytest.raises(AskRefused, match="empty"):
                caller.submit(" \n")
            with pytest.raises(AskRefused) as refused:
                caller.submit("q", skills=("nope",))
            assert "'nope'" in refused.value.message
            assert "terminal-diagnosis" in refused.value.message
            with pytest.raises(AskRefused, match="session id"):
                caller.submit("q", session_id="a\nb")
            with pytest.raises(AskRefused, match="session id"):
                caller.submit("q", session_id="x" * 129)
            assert caller.service.running() == {}
            caller.submit("", context=AskContext(log="a log alone is enough"))
            assert len(caller.service.running()) == 1

    asyncio.run(main())
