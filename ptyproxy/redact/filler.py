"""What stands for masked text while a redactor searches: a noncharacter, so no pattern takes it for part of a token."""

FILLER = "\ufdd0"
