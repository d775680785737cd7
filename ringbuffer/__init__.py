"""What the terminal showed: bytes in, spans out. Imports nothing of ours."""
