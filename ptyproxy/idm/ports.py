"""What the pump's half of the `@ai` mode needs of the pump and of the tap."""

from __future__ import annotations

from typing import Literal, Protocol

from ptyproxy.ports import Finding
from ptyproxy.stream.keys import Input

State = Literal["off", "waiting", "settling", "editing", "handing", "starting", "running"]


class Wires(Protocol):
    """What the mode needs of the pump."""

    size_held: bool
    input_held: bool

    def send(self, data: bytes) -> None:
        """Give the child input."""
        ...

    def show(self, data: bytes) -> None:
        """Write to the terminal."""
        ...

    def release_size(self) -> None:
        """Tell the child the terminal's size, after `size_held`."""
        ...


class Surroundings(Protocol):
    """What the mode needs of the tap."""

    @property
    def prompt_is_idle(self) -> bool:
        """A prompt is drawn, nothing was typed since, the alternate screen is off."""
        ...

    @property
    def takes_orders(self) -> bool:
        """Whether the shell's line editor looks for orders, where it has one."""
        ...

    @property
    def prompt_span(self) -> tuple[int, int]:
        """Where the newest prompt lies in the stream, from its begin mark to its end mark."""
        ...

    @property
    def nothing_typed(self) -> bool:
        """Nothing was typed since the last Enter or prompt, and no sequence is half read."""
        ...

    @property
    def words_on_their_way(self) -> bool:
        """The shell is being made to show something of ours."""
        ...

    def happened_since(self, number: int | None) -> Finding | None:
        """The commands after record `number`; None: the recent past, or the screen."""
        ...

    def typed_ahead(self, pieces: list[Input]) -> None:
        """These keys are the child's after all."""
        ...

    def left_mode(self) -> None:
        """The child has the keyboard again, and nothing is typed in its line."""
        ...
