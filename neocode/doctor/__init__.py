"""`neocode doctor`: what is wrong with the set-up, and which line to change; works when all else is broken."""
