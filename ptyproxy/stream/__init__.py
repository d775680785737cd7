"""Sans-IO byte parsers: bytes in, events out, the same events however the bytes are cut."""
