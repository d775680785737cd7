/* Stands in for the conpty.dll that pywinpty ships, which Wine cannot run: the same exports over Wine's own pseudo
 * console, whose gaps it works round. It is not Microsoft's: what it shows says nothing about VT behaviour.
 *
 * Switches, as environment variables of the process that creates the console:
 *   SHIM_PRELUDE=1  begins with the queries and modes that a ConPTY from 1.22 on begins with
 *   SHIM_SPLIT=1    sends a character cut over two reads, and a NUL;  SHIM_BIG=1: 60,000 bytes of 3-byte characters
 *   SHIM_MUTE=1     shows nothing at all, as a console that waits for an answer does
 *   SHIM_TRACE=file logs every CreateProcessW
 */
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000006
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#define PSEUDOCONSOLE_ATTRIBUTE 0x00020016
#define RESIZE_WAIT_MS 5000

typedef HRESULT(WINAPI *create_t)(COORD, HANDLE, HANDLE, DWORD, void **);
typedef HRESULT(WINAPI *resize_t)(void *, COORD);
typedef void(WINAPI *close_t)(void *);
typedef BOOL(WINAPI *create_process_t)(HANDLE, LPCWSTR, LPWSTR, LPSECURITY_ATTRIBUTES, LPSECURITY_ATTRIBUTES, BOOL,
                                       DWORD, LPVOID, LPCWSTR, LPSTARTUPINFOW, LPPROCESS_INFORMATION, HANDLE *);

typedef struct {
    HANDLE caller_in, caller_out; /* what the caller gave us: perhaps overlapped, perhaps one duplex pipe */
    HANDLE console_in, console_out; /* our ends of the synchronous pipes that Wine's conhost needs */
    BOOL mute;
} Bridge;

static FARPROC kernelbase(const char *name) { return GetProcAddress(GetModuleHandleA("kernelbase.dll"), name); }

static BOOL is_on(const char *name) {
    char value[8];
    return GetEnvironmentVariableA(name, value, sizeof value) > 0;
}

/* Reads or writes a handle of either kind and waits for it. */
static BOOL transfer(HANDLE handle, void *data, DWORD size, DWORD *done, BOOL writes) {
    OVERLAPPED overlapped;
    memset(&overlapped, 0, sizeof overlapped);
    overlapped.hEvent = CreateEventA(NULL, TRUE, FALSE, NULL);
    BOOL ok = writes ? WriteFile(handle, data, size, NULL, &overlapped) : ReadFile(handle, data, size, NULL, &overlapped);
    if (ok || GetLastError() == ERROR_IO_PENDING)
        ok = GetOverlappedResult(handle, &overlapped, done, TRUE);
    CloseHandle(overlapped.hEvent);
    return ok;
}

static DWORD WINAPI pump_input(void *argument) {
    Bridge *bridge = argument;
    char data[4096];
    DWORD count, written;
    while (transfer(bridge->caller_in, data, sizeof data, &count, FALSE) && count)
        if (!WriteFile(bridge->console_in, data, count, &written, NULL))
            break;
    CloseHandle(bridge->caller_in);
    CloseHandle(bridge->console_in);
    return 0;
}

static void send_cut_characters(HANDLE out) {
    DWORD written;
    if (is_on("SHIM_BIG")) {
        enum { SIZE = 60000 };
        char *wide = malloc(SIZE);
        for (int at = 0; at < SIZE; at += 3)
            memcpy(wide + at, "\xe4\xbd\xa0", 3);
        transfer(out, wide, SIZE, &written, TRUE);
        free(wide);
    }
    if (is_on("SHIM_SPLIT")) {
        transfer(out, "A\xe4\xbd", 3, &written, TRUE);
        Sleep(300);
        transfer(out, "\xa0" "B\0C", 4, &written, TRUE);
        Sleep(300);
    }
}

static DWORD WINAPI pump_output(void *argument) {
    Bridge *bridge = argument;
    char data[4096];
    DWORD count, written;
    if (!bridge->mute)
        send_cut_characters(bridge->caller_out);
    while (ReadFile(bridge->console_out, data, sizeof data, &count, NULL) && count)
        if (!bridge->mute && !transfer(bridge->caller_out, data, count, &written, TRUE))
            break;
    CloseHandle(bridge->console_out); /* a conhost that still writes must fail, not wait for us */
    CloseHandle(bridge->caller_out);
    return 0;
}

/* Wine gives a child of a pseudo console no standard handles when STARTF_USESTDHANDLES carries NULLs, as everybody
 * passes them on Windows. Every CreateProcessW of this process comes through here, and loses that flag then. */
static BOOL WINAPI create_process(LPCWSTR application, LPWSTR command, LPSECURITY_ATTRIBUTES process,
                                  LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags, LPVOID environment,
                                  LPCWSTR directory, LPSTARTUPINFOW startup, LPPROCESS_INFORMATION information) {
    char trace[MAX_PATH];
    if (GetEnvironmentVariableA("SHIM_TRACE", trace, sizeof trace)) {
        FILE *log = fopen(trace, "a");
        if (log) {
            fprintf(log, "CreateProcessW app=%ls cmd=%ls inherit=%d flags=0x%lx si.dwFlags=0x%lx std=%p %p %p cwd=%ls\n",
                    application ? application : L"(null)", command ? command : L"(null)", inherit, flags,
                    startup->dwFlags, startup->hStdInput, startup->hStdOutput, startup->hStdError,
                    directory ? directory : L"(null)");
            fclose(log);
        }
    }
    if ((flags & EXTENDED_STARTUPINFO_PRESENT) && (startup->dwFlags & STARTF_USESTDHANDLES) && !startup->hStdInput)
        startup->dwFlags &= ~STARTF_USESTDHANDLES;
    create_process_t internal = (create_process_t)(void *)kernelbase("CreateProcessInternalW");
    return internal(NULL, application, command, process, thread, inherit, flags, environment, directory, startup,
                    information, NULL);
}

/* Turns kernelbase's CreateProcessW, to which every import of it leads, into a jump to ours. */
static void hook_create_process(void) {
    static LONG hooked;
    if (InterlockedExchange(&hooked, 1))
        return;
    BYTE *target = (BYTE *)(void *)kernelbase("CreateProcessW");
    BYTE jump[12] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0}; /* mov rax, address; jmp rax */
    void *address = (void *)create_process;
    DWORD protection;
    memcpy(jump + 2, &address, sizeof address);
    VirtualProtect(target, sizeof jump, PAGE_EXECUTE_READWRITE, &protection);
    memcpy(target, jump, sizeof jump);
    VirtualProtect(target, sizeof jump, protection, &protection);
    FlushInstructionCache(GetCurrentProcess(), target, sizeof jump);
}

__declspec(dllexport) HRESULT WINAPI ConptyCreatePseudoConsole(COORD size, HANDLE input, HANDLE output, DWORD flags,
                                                               void **console) {
    HANDLE me = GetCurrentProcess(), conhost_in, conhost_out;
    Bridge *bridge = calloc(1, sizeof *bridge); /* lives as long as the two threads, so for good */
    hook_create_process();
    if (!CreatePipe(&conhost_in, &bridge->console_in, NULL, 0) ||
        !CreatePipe(&bridge->console_out, &conhost_out, NULL, 0) ||
        !DuplicateHandle(me, input, me, &bridge->caller_in, 0, FALSE, DUPLICATE_SAME_ACCESS) ||
        !DuplicateHandle(me, output, me, &bridge->caller_out, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return HRESULT_FROM_WIN32(GetLastError());
    HRESULT result = ((create_t)(void *)kernelbase("CreatePseudoConsole"))(size, conhost_in, conhost_out, flags, console);
    CloseHandle(conhost_in);
    CloseHandle(conhost_out);
    if (result)
        return result;
    bridge->mute = is_on("SHIM_MUTE");
    if (is_on("SHIM_PRELUDE")) {
        static const char prelude[] = "\x1b[1t\x1b[c\x1b[?1004h\x1b[?9001h";
        DWORD written;
        transfer(bridge->caller_out, (void *)prelude, sizeof prelude - 1, &written, TRUE);
    }
    CloseHandle(CreateThread(NULL, 0, pump_input, bridge, 0, NULL));
    CloseHandle(CreateThread(NULL, 0, pump_output, bridge, 0, NULL));
    return S_OK;
}

/* Wine answers E_NOTIMPL: a helper inside the console sets the size then. */
__declspec(dllexport) HRESULT WINAPI ConptyResizePseudoConsole(void *console, COORD size) {
    HRESULT result = ((resize_t)(void *)kernelbase("ResizePseudoConsole"))(console, size);
    if (result != E_NOTIMPL)
        return result;
    char folder[MAX_PATH], command[MAX_PATH * 2];
    GetModuleFileNameA(GetModuleHandleA("conpty.dll"), folder, sizeof folder);
    *strrchr(folder, '\\') = 0;
    snprintf(command, sizeof command, "\"%s\\resizer.exe\" %d %d", folder, size.X, size.Y);
    SIZE_T needed = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &needed);
    STARTUPINFOEXA startup;
    memset(&startup, 0, sizeof startup);
    startup.StartupInfo.cb = sizeof startup;
    startup.lpAttributeList = malloc(needed);
    InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &needed);
    UpdateProcThreadAttribute(startup.lpAttributeList, 0, PSEUDOCONSOLE_ATTRIBUTE, console, sizeof console, NULL, NULL);
    PROCESS_INFORMATION helper;
    BOOL started = CreateProcessA(NULL, command, NULL, NULL, FALSE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                                  &startup.StartupInfo, &helper);
    free(startup.lpAttributeList);
    if (!started)
        return HRESULT_FROM_WIN32(GetLastError());
    DWORD code = 9;
    WaitForSingleObject(helper.hProcess, RESIZE_WAIT_MS);
    GetExitCodeProcess(helper.hProcess, &code);
    CloseHandle(helper.hProcess);
    CloseHandle(helper.hThread);
    return code == 0 ? S_OK : E_FAIL;
}

__declspec(dllexport) void WINAPI ConptyClosePseudoConsole(void *console) {
    ((close_t)(void *)kernelbase("ClosePseudoConsole"))(console);
}

/* Wine's console keeps its output open until it is closed, as those of old Windows do: nothing to release. */
__declspec(dllexport) HRESULT WINAPI ConptyReleasePseudoConsole(void *console) {
    (void)console;
    return S_OK;
}

__declspec(dllexport) HRESULT WINAPI ConptyShowHidePseudoConsole(void *console, BOOL show) {
    (void)console, (void)show;
    return S_OK;
}

__declspec(dllexport) HRESULT WINAPI ConptyClearPseudoConsole(void *console) {
    (void)console;
    return S_OK;
}
