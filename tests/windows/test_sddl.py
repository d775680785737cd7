"""Security descriptors read as text: who besides the user may do something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conpty import sddl

ME = "S-1-5-21-1-2-3-1001"
OTHER = "S-1-5-21-1-2-3-1002"


def test_what_we_write_lets_in_nobody_else() -> None:
    for inherited in (False, True):
        text = f"O:{ME}G:BA{sddl.owner_only(ME, inherited=inherited)}"
        assert sddl.strangers(text, ME) == []
        assert sddl.strangers(text, OTHER) == [ME]
        assert not sddl.is_foreign(text, ME)
    assert sddl.owner_only(ME).startswith("D:P")


@pytest.mark.parametrize(
    ("dacl", "readers", "writers"),
    [
        # what Windows makes: a profile, C:\work, a share
        (f"D:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;{ME})", [], []),
        ("D:AI(A;ID;FA;;;BA)(A;ID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)", ["BU", "AU"], ["AU"]),
        (f"D:(A;;FR;;;WD)(A;;FA;;;{ME})", ["WD"], []),
        (f"D:(A;;GA;;;{OTHER})", [OTHER], [OTHER]),
        # who may change the list may do everything
        (f"D:(A;;WDWO;;;{OTHER})", [OTHER], [OTHER]),
        # a denial lets nobody in, an entry for heirs only says nothing of this file
        (f"D:(D;;FA;;;{OTHER})(A;OICIIO;FA;;;{OTHER})", [], []),
        # no list at all: everybody; an empty one: nobody
        ("", ["WD"], ["WD"]),
        ("D:NO_ACCESS_CONTROL", ["WD"], ["WD"]),
        ("D:P", [], []),
        # a conditional entry, with colons and parentheses of its own
        ('D:(XA;;FR;;;AU;(@User.Title == "a:b(c)"))(A;;FA;;;SY)', ["AU"], []),
        # a mandatory label is no access
        (f"D:P(A;;FA;;;{ME})S:(ML;;NW;;;LW)", [], []),
    ],
)
def test_who_may_read_and_write(dacl: str, readers: list[str], writers: list[str]) -> None:
    text = f"O:{ME}G:{ME}{dacl}"
    assert sddl.strangers(text, ME) == list(dict.fromkeys([*readers, *writers]))
    assert sddl.strangers(text, ME, sddl.WRITE) == writers


@pytest.mark.parametrize(("owner", "foreign"), [(ME, False), ("BA", False), ("SY", False), (OTHER, True), ("BU", True)])
def test_whose_it_is(owner: str, foreign: bool) -> None:
    assert sddl.is_foreign(f"O:{owner}D:P(A;;FA;;;{ME})", ME) is foreign


@given(st.text("ODGS:();A0x1WFLRP;-", max_size=60))
def test_what_cannot_be_read_never_means_nobody(junk: str) -> None:
    """The entry of a stranger is found whatever stands before it in the list."""
    closed = junk.replace("(", "").replace(")", "").replace(":", "")
    assert OTHER in sddl.strangers(f"O:{ME}D:{closed}(A;;FA;;;{OTHER})", ME) or "NO_ACCESS" in closed
    sddl.strangers(junk, ME)
    sddl.owner(junk)
