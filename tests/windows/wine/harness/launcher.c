/* python.exe: the Windows Python that we unpack comes as a DLL without its launcher. */
#include <windows.h>

typedef int (*py_main_t)(int, wchar_t **);

int wmain(int argc, wchar_t **argv) {
    HMODULE python = LoadLibraryW(L"python311.dll");
    if (!python)
        return 121;
    py_main_t py_main = (py_main_t)(void *)GetProcAddress(python, "Py_Main");
    if (!py_main)
        return 122;
    return py_main(argc, argv);
}
