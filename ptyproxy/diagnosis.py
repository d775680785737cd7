"""When to diagnose, with what, once; and what the hotkey does. Belongs to the pump's thread.

Invariants: one question at a time, the newest failure replaces one that still waits; the same fault is not asked about
by itself twice within 10 s, and what was answered is remembered 5 minutes; nothing here blocks or shows anything
itself (`notices` decides when words appear, the control thread asks).
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from ptyproxy import policy
from ptyproxy.messages import AllowAutomatic, Ask, Block, Done, Failed, FromControl, Stop, ToControl
from ptyproxy.notices import Notices, dim, remark
from ptyproxy.ports import Answer, Finding
from ptyproxy.records import CommandRecord, Output

REPEAT_SEC = 10.0
MEMORY_SEC = 300.0
MEMORY_ANSWERS = 32
MARKER_SEC = 0.3  # an answer that is faster needs no marker
_INVISIBLE = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]|[\x00-\x20\x7f]")
_NUMBERS = re.compile(rb"\d+")


class Job(NamedTuple):
    """One question on its way. `number`: the record it is about, 0 for the screen or a free question.

    `unsure`: whether there is anything to ask about is still being looked at, and nobody is told of that.
    """

    ticket: int
    number: int
    fingerprint: bytes
    automatic: bool
    asked_at: float
    unsure: bool = False


class Shown(NamedTuple):
    """The answer on the screen: which command it is about, and its fixes that may be inserted."""

    number: int
    fixes: tuple[str, ...]


class Remembered(NamedTuple):
    """An answer given before."""

    at: float
    text: str
    answer: Answer


class Diagnosis:
    """`find` makes a Finding of a record (None: the recent screen); `insert` puts a line into the shell's editor."""

    def __init__(
        self,
        notices: Notices,
        post: Callable[[ToControl], None],
        find: Callable[[CommandRecord | None, bool], Finding],
        insert: Callable[[str], None],
        *,
        auto: bool = True,
        marker: bool = True,
        settings: policy.Settings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.auto = auto
        self.held = False  # in the `@ai` mode nothing is diagnosed by itself, whatever `auto` says
        self._notices = notices
        self._post = post
        self._find = find
        self._insert = insert
        self._marker = marker
        self._settings = settings or policy.Settings()
        self._clock = clock
        self._tickets = 0
        self._running: Job | None = None
        self._next: tuple[CommandRecord, Finding, bytes] | None = None
        self._text: list[str] = []
        self._marker_due: float | None = None
        self._seen: dict[bytes, float] = {}
        self._memory: OrderedDict[bytes, Remembered] = OrderedDict()
        self._last: CommandRecord | None = None
        self._last_failed: CommandRecord | None = None
        self._shown: Shown | None = None
        self._fix = 0
        self._consent_told = False

    @property
    def busy(self) -> bool:
        """Whether an answer is awaited."""
        return self._running is not None and not self._running.unsure

    # -- what happens in the shell

    def command_ended(self, record: CommandRecord, *, hidden: bool, by_text: bool = False) -> None:
        """A command ended; `hidden`: its line was typed with a leading space.

        `by_text`: its shell tells no exit codes, so whether it failed is for its text to say.
        """
        if self.is_ours(record.command or ""):
            return
        self._last = record
        unsure = record.exit_code is None and by_text
        if record.exit_code in policy.NO_FAULT_CODES or (record.exit_code is None and not unsure):
            return
        self._last_failed = None if unsure else record
        if not self.auto or self.held:
            return
        finding = self._find(record, True)._replace(unsure=unsure)
        text = shows_text(finding.output)
        reason = policy.skip_reason(record, has_text=text, hidden=hidden, settings=self._settings, by_text=unsure)
        if reason is None:
            self._consider(record, finding)

    def _consider(self, record: CommandRecord, finding: Finding) -> None:
        """An automatic diagnosis, unless this fault was just looked at, or was asked about while the command ran."""
        if any(about is not None and about.number == record.number for about in (self._running, self._shown)):
            return
        fingerprint, now = fingerprint_of(record, finding.output), self._clock()
        self._seen = {key: at for key, at in self._seen.items() if now - at < REPEAT_SEC}
        if fingerprint in self._seen:
            return
        self._seen[fingerprint] = now
        if self._running is None:
            self._start(record, finding, fingerprint)
        else:
            self._next = (record, finding, fingerprint)

    def hotkey(self, line: str) -> None:
        """Ctrl+G: `line` is `empty`, `same` (what we inserted) or `other` (half-typed)."""
        target = self._target()
        number = target.number if target else 0
        if self._shown is not None and self._shown.number == number and self._running is None:
            if self._notices.want():
                return  # it is not shown yet: a shell without a widget shows it above the next prompt, or now
            if line in ("empty", "same"):
                self._insert_next(self._shown)
            return
        if self._running is not None and self.busy and self._running.number == number:
            self._running = self._running._replace(automatic=False)  # asked for by now: a plain shell shows it at once
            self._notices.want()
        else:
            self.ask_about(target)

    def _target(self) -> CommandRecord | None:
        """What the hotkey is about: the last failed command, else the last one, else (None) the screen."""
        return self._last_failed or self._last

    def _insert_next(self, shown: Shown) -> None:
        if not shown.fixes:
            self._notices.say(remark("there is no command here that may be put into the line"), asked=True)
        elif self._fix < len(shown.fixes):
            self._fix += 1
            self._insert(shown.fixes[self._fix - 1])
        else:
            self._fix = 0
            self._insert("")

    def requested(self, about: CommandRecord | None = None) -> None:
        """`neocode diag` from another terminal, about the command that runs, or typed here, about the one before."""
        target = about or self._target()
        told = self._shown is not None and target is not None and self._shown.number == target.number
        if not self.busy and not (told and self._notices.want()):  # it waits for the next prompt: once is enough
            self.ask_about(target)

    def interrupted(self) -> None:
        """Ctrl-C at the prompt: the answer that somebody waits for is not wanted any more."""
        if self._running is not None and not self._running.automatic:
            self._post(Stop(self._running.ticket))
            self._running, self._marker_due = None, None
            self._notices.drop()
            self._start_next()

    def switch(self, auto: bool) -> None:
        """`neocode diag auto on|off`, which is also what the user says of a remote provider."""
        self.auto = auto
        self._consent_told = False
        self._post(AllowAutomatic(auto))

    def is_ours(self, command: str) -> bool:
        """Whether a command line is one of ours, which is never what a diagnosis is about."""
        return policy.program_of(command) in self._settings.ours or policy.asks_us(command)

    def ask_about(self, record: CommandRecord | None) -> None:
        """A diagnosis that somebody asked for; an automatic one that runs is replaced."""
        if self._running is not None:
            self._post(Stop(self._running.ticket))
            self._running = None
        finding = self._find(record, False)
        self._start(record, finding, fingerprint_of(record, finding.output))

    def ask_question(self, question: str, finding: Finding | None) -> None:
        """`@ai question` at the ordinary prompt: one turn of its own."""
        if self._running is not None:
            self._post(Stop(self._running.ticket))
        self._begin(Job(self._ticket(), 0, b"", False, self._clock()))
        self._post(Ask(self._tickets, finding, question))

    # -- the question on its way

    def _ticket(self) -> int:
        self._tickets += 1
        return self._tickets

    def _start(self, record: CommandRecord | None, finding: Finding, fingerprint: bytes) -> None:
        number = record.number if record else 0
        known = self._memory.get(fingerprint)
        if known is not None and self._clock() - known.at < MEMORY_SEC:
            self._notices.say(known.text, asked=not finding.automatic)
            self._remember_shown(number, known.answer)
            return
        self._begin(Job(self._ticket(), number, fingerprint, finding.automatic, self._clock(), finding.unsure))
        self._post(Ask(self._tickets, finding))

    def _begin(self, job: Job) -> None:
        self._running = job
        self._text = []
        # nothing is looked at by itself while it waits for the user's word
        marker = self._marker and not (job.automatic and self._consent_told) and not job.unsure
        self._marker_due = job.asked_at + MARKER_SEC if marker else None

    def receive(self, message: FromControl) -> None:
        """What the control thread says of a question; a ticket that is not awaited any more is ignored."""
        job = self._running
        if job is None or not isinstance(message, (Block, Done, Failed)) or message.ticket != job.ticket:
            return
        if isinstance(message, Block):
            self._marker_due = None
            self._running = job._replace(unsure=False)
            self._text.append(message.text)
            self._notices.say(message.text, asked=not job.automatic)
            return
        self._running, self._marker_due = None, None
        if isinstance(message, Done):
            self._finish(job, message.answer)
        elif message.line and not (message.consent and self._consent_told):
            self._consent_told = self._consent_told or message.consent
            self._notices.say(remark(message.line), asked=not job.automatic)
        self._start_next()

    def _finish(self, job: Job, answer: Answer) -> None:
        closing = dim(answer.closing)
        self._notices.say(closing, asked=not job.automatic)
        if job.fingerprint:
            self._memory[job.fingerprint] = Remembered(self._clock(), "".join(self._text) + closing, answer)
            while len(self._memory) > MEMORY_ANSWERS:
                self._memory.popitem(last=False)
        self._remember_shown(job.number, answer)

    def _remember_shown(self, number: int, answer: Answer) -> None:
        self._shown = Shown(number, tuple(fix for fix in answer.fixes if policy.insertable(fix)))
        self._fix = 0

    def _start_next(self) -> None:
        if self._next is not None:
            (record, finding, fingerprint), self._next = self._next, None
            self._start(record, finding, fingerprint)

    def tick(self) -> float | None:
        """Show the marker when it is due; seconds until then."""
        if self._marker_due is None or self._running is None:
            return None
        left = self._marker_due - self._clock()
        if left > 0:
            return left
        self._marker_due = None
        self._notices.say(remark("looking at it ..."), asked=not self._running.automatic, fleeting=True)
        return None


def shows_text(output: Output) -> bool:
    """Whether anything visible is in an output; its last 4 KiB decide, its head if they are blank."""
    return bool(_INVISIBLE.sub(b"", output.tail[-4096:]) or _INVISIBLE.sub(b"", output.head[:4096]))


def fingerprint_of(record: CommandRecord | None, output: Output) -> bytes:
    """The same fault has the same fingerprint: command, exit code, directory, and the output without its numbers."""
    import hashlib  # 3 ms that the first prompt need not wait for

    digest = hashlib.blake2b(digest_size=16)
    if record is not None:
        digest.update(f"{record.command}\0{record.exit_code}\0{record.cwd}\0".encode("utf-8", "replace"))
    digest.update(_NUMBERS.sub(b"#", output.tail[-16384:]))
    return digest.digest()
