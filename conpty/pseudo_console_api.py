"""The real `direct.PseudoConsoleApi`: the conpty.dll that pywinpty ships, called by ctypes.

That dll brings its own conhost (OpenConsole.exe beside it), so VT behaviour does not depend on the Windows version.
Invariant: every handle has one owner, here or in `console_pipes.py` and `process_api.py`, that closes it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from ctypes import wintypes
from pathlib import Path

from conpty.backend import Launch
from conpty.environment import environment_block

if sys.platform == "win32":
    from conpty.console_pipes import InputPipe, OutputPipe
    from conpty.process_api import WindowsProcess, WindowsProcesses

assert sys.platform == "win32"

DLL = "conpty.dll"
EXTENDED_STARTUPINFO_PRESENT, CREATE_UNICODE_ENVIRONMENT = 0x80000, 0x400
STARTF_USESTDHANDLES = 0x100
PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE = 0x20016


class COORD(ctypes.Structure):
    _fields_ = [("X", ctypes.c_short), ("Y", ctypes.c_short)]


class STARTUPINFOEXW(ctypes.Structure):
    _fields_ = [
        ("cb", wintypes.DWORD),
        *[(name, wintypes.LPWSTR) for name in ("lpReserved", "lpDesktop", "lpTitle")],
        *[(name, wintypes.DWORD) for name in ("dwX", "dwY", "dwXSize", "dwYSize", "dwXCountChars", "dwYCountChars")],
        ("dwFillAttribute", wintypes.DWORD),
        ("dwFlags", wintypes.DWORD),
        ("wShowWindow", wintypes.WORD),
        ("cbReserved2", wintypes.WORD),
        ("lpReserved2", ctypes.c_void_p),
        *[(name, wintypes.HANDLE) for name in ("hStdInput", "hStdOutput", "hStdError")],
        ("lpAttributeList", ctypes.c_void_p),
    ]


class PROCESS_INFORMATION(ctypes.Structure):
    _fields_ = [
        *[(name, wintypes.HANDLE) for name in ("hProcess", "hThread")],
        *[(name, wintypes.DWORD) for name in ("dwProcessId", "dwThreadId")],
    ]


SIZES = {COORD: 4, STARTUPINFOEXW: 112, PROCESS_INFORMATION: 24}  # on 64 bits, as the headers have them


def _load_kernel32() -> ctypes.WinDLL:
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    pointer, dword, size, text = ctypes.c_void_p, wintypes.DWORD, ctypes.c_size_t, wintypes.LPCWSTR
    for name, result, arguments in (
        ("InitializeProcThreadAttributeList", wintypes.BOOL, [pointer, dword, dword, ctypes.POINTER(size)]),
        ("UpdateProcThreadAttribute", wintypes.BOOL, [pointer, dword, size, pointer, size, pointer, pointer]),
        ("DeleteProcThreadAttributeList", None, [pointer]),
        (
            "CreateProcessW",
            wintypes.BOOL,
            [text, wintypes.LPWSTR, pointer, pointer, wintypes.BOOL, dword, pointer, text, pointer, pointer],
        ),
        ("CloseHandle", wintypes.BOOL, [wintypes.HANDLE]),
    ):
        function = getattr(kernel32, name)
        function.restype, function.argtypes = result, arguments
    return kernel32


_kernel32 = _load_kernel32()


class ConptyDll:
    """The functions of conpty.dll. Raises OSError when it cannot be found or loaded."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("winpty")  # looked for, not imported: only its files are wanted
        if spec is None or spec.origin is None:
            raise OSError("pywinpty, which brings conpty.dll, is not installed")
        try:
            dll = ctypes.WinDLL(str(Path(spec.origin).with_name(DLL)))
            self.create, self.resize, self.close = (
                dll.ConptyCreatePseudoConsole,
                dll.ConptyResizePseudoConsole,
                dll.ConptyClosePseudoConsole,
            )
        except (OSError, AttributeError) as error:  # a FileNotFoundError would be read as "no such program"
            raise OSError(f"{DLL}: {error}") from error
        console = ctypes.c_void_p
        self.create.restype = self.resize.restype = ctypes.HRESULT  # a failure raises OSError
        handles = [wintypes.HANDLE, wintypes.HANDLE]
        self.create.argtypes = [COORD, *handles, wintypes.DWORD, ctypes.POINTER(console)]
        self.resize.argtypes = [console, COORD]
        self.close.restype, self.close.argtypes = None, [console]
        # from 1.22 on: the console ends with its last child by itself, and with it the output
        self.release = getattr(dll, "ConptyReleasePseudoConsole", None)
        if self.release is not None:
            self.release.restype, self.release.argtypes = ctypes.c_long, [console]


class WindowsPseudoConsoles:
    """The real `PseudoConsoleApi`. Raises OSError when conpty.dll cannot be used."""

    def __init__(self) -> None:
        self._dll = ConptyDll()

    def open(self, rows: int, cols: int) -> WindowsPseudoConsole:
        """A new console without a child. Raises OSError, and none of its subclasses: those are about the program."""
        try:
            return WindowsPseudoConsole(self._dll, rows, cols)
        except OSError as error:
            raise OSError(f"{DLL}: {error}") from error


class WindowsPseudoConsole:
    """A `direct.PseudoConsole` over conpty.dll."""

    def __init__(self, dll: ConptyDll, rows: int, cols: int) -> None:
        self._dll = dll
        self._console = ctypes.c_void_p()
        self._output = OutputPipe()
        try:
            self._input = InputPipe()
        except BaseException:
            _kernel32.CloseHandle(self._output.far_end)
            self._output.close()
            raise
        self.read, self.wake = self._output.read, self._output.wake
        self.write, self.stop_writing = self._input.write, self._input.stop
        far_in, far_out = self._input.far_end, self._output.far_end
        try:
            dll.create(COORD(cols, rows), far_in, far_out, 0, ctypes.byref(self._console))
        except BaseException:
            self.release()
            raise
        finally:
            for handle in (far_in, far_out):  # conhost has its own by now; ours would keep the output open
                _kernel32.CloseHandle(handle)

    def spawn(self, launch: Launch) -> WindowsProcess:
        """Start the child. Raises what Windows says, as an OSError with its `winerror`."""
        processes = WindowsProcesses()
        processes.restore_ctrl_c()
        process = create_process(launch, self._console)
        if self._dll.release is not None:
            self._dll.release(self._console)
        return process

    def resize(self, rows: int, cols: int) -> None:
        """Set the size. Raises OSError."""
        self._dll.resize(self._console, COORD(cols, rows))

    def close_console(self) -> None:
        """Close the console; older Windows block here while output is unread."""
        self._dll.close(self._console)

    def release(self) -> None:
        """Close our ends of the pipes."""
        self._output.close()
        self._input.close()


def create_process(launch: Launch, console: ctypes.c_void_p) -> WindowsProcess:
    """Start `launch` in a pseudo console; none of our handles goes to it. Raises OSError."""
    size = ctypes.c_size_t()
    _kernel32.InitializeProcThreadAttributeList(None, 1, 0, ctypes.byref(size))  # fails, and tells the size
    attributes = ctypes.create_string_buffer(size.value)
    check(_kernel32.InitializeProcThreadAttributeList(attributes, 1, 0, ctypes.byref(size)), launch)
    startup, process = STARTUPINFOEXW(), PROCESS_INFORMATION()
    startup.cb = ctypes.sizeof(startup)
    startup.lpAttributeList = ctypes.addressof(attributes)
    startup.dwFlags = STARTF_USESTDHANDLES  # with no handles, else our own redirected ones would be the child's
    line = ctypes.create_unicode_buffer(launch.command_line)  # CreateProcessW writes into it
    environment = ctypes.create_unicode_buffer(environment_block(launch.environ) + "\0")
    flags = EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT
    pointers = ctypes.byref(startup), ctypes.byref(process)
    try:
        attribute = PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, console, ctypes.sizeof(console)
        check(_kernel32.UpdateProcThreadAttribute(attributes, 0, *attribute, None, None), launch)
        args = None, line, None, None, False, flags, environment, launch.cwd, *pointers
        check(_kernel32.CreateProcessW(*args), launch)
    finally:
        _kernel32.DeleteProcThreadAttributeList(attributes)
    _kernel32.CloseHandle(process.hThread)
    return WindowsProcess(process.hProcess, process.dwProcessId)


def check(succeeded: int, launch: Launch) -> None:
    """Raise the last error of Windows when a call failed: FileNotFoundError and PermissionError among them."""
    if not succeeded:
        error = ctypes.WinError(ctypes.get_last_error())
        error.filename = launch.command_line
        raise error
