"""Windows only: pseudo console, console modes, owner-only named pipe. Imports nothing of ours."""
