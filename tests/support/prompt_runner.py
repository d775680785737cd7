"""`python prompt_runner.py FILE ARGUMENTS...`: `neocode ARGUMENTS`, and writes to FILE which modules were imported
when the shell was spawned and when its first prompt was on the terminal: `spawn NAME...`, `prompt NAME...`."""

from __future__ import annotations

import sys

PROMPT_END = b"\x1b]7781;neocode;B"


def main() -> None:
    report, *arguments = sys.argv[1:]
    import neocode.cli.main
    import ptyproxy.platform.unix as unix
    from ptyproxy.platform.unix_writer import TerminalWriter

    seen: dict[str, list[str]] = {}
    spawn, write = unix.spawn, TerminalWriter.write

    def spawn_and_note(*given: object) -> object:
        result = spawn(*given)  # type: ignore[arg-type]
        seen["spawn"] = sorted(sys.modules)
        return result

    def write_and_note(self: TerminalWriter, data: bytes) -> None:
        write(self, data)
        if PROMPT_END in data and "prompt" not in seen:
            seen["prompt"] = sorted(sys.modules)
            with open(report, "w", encoding="ascii") as file:
                file.writelines(f"{when} {' '.join(modules)}\n" for when, modules in seen.items())

    unix.spawn = spawn_and_note  # type: ignore[assignment]
    TerminalWriter.write = write_and_note  # type: ignore[method-assign]
    sys.argv = ["neocode", *arguments]
    neocode.cli.main.entry()


if __name__ == "__main__":
    main()
