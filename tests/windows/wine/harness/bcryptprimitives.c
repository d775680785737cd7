/* Rust's standard library takes its random numbers from here, and Wine 8 has no such DLL. */
#include <windows.h>

#define RtlGenRandom SystemFunction036
BOOLEAN NTAPI RtlGenRandom(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T count) { return RtlGenRandom(bytes, (ULONG)count); }
