"""These tests run in a Windows Python: a real one, or the one that `scripts/test --wine` builds."""

from __future__ import annotations

import sys

collect_ignore_glob = [] if sys.platform == "win32" else ["test_*.py"]
