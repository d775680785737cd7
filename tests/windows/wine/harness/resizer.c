/* Run inside a pseudo console: sets its size to COLUMNS ROWS, which Wine's ResizePseudoConsole cannot. */
#include <stdlib.h>
#include <windows.h>

static int least(int a, int b) { return a < b ? a : b; }

int main(int argc, char **argv) {
    if (argc != 3)
        return 1;
    HANDLE out = CreateFileA("CONOUT$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                             OPEN_EXISTING, 0, NULL);
    COORD size = {(SHORT)atoi(argv[1]), (SHORT)atoi(argv[2])};
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(out, &info))
        return 2;
    /* the window may never be larger than its buffer, whichever of them changes first */
    SMALL_RECT common = {0, 0, (SHORT)(least(info.dwSize.X, size.X) - 1), (SHORT)(least(info.dwSize.Y, size.Y) - 1)};
    SetConsoleWindowInfo(out, TRUE, &common);
    if (!SetConsoleScreenBufferSize(out, size))
        return 3;
    SMALL_RECT window = {0, 0, (SHORT)(size.X - 1), (SHORT)(size.Y - 1)};
    return SetConsoleWindowInfo(out, TRUE, &window) ? 0 : 4;
}
