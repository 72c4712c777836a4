"""Passwords that a user was asked for: kept in the memory of this process, and nowhere else.

The libraries of a database read the usual environment variables and files by themselves, so Shoal never sees those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_known: dict[str, str] = {}
_ask: Callable[[str], str] | None = None


def ask_with(asking: Callable[[str], str] | None) -> None:
    """Let this function ask for the password of an address, if a server wants one and nothing else knows it."""
    global _ask  # one process serves one terminal
    _ask = asking


def password_of(address: str) -> str:
    """Return a password that was given before; "" if there is none."""
    return _known.get(address, "")


def ask_password(address: str) -> bool:
    """Ask for the password of an address, and return whether there is one now."""
    if _ask is None or address in _known:
        return False
    found = _ask(address)
    if found:
        _known[address] = found
    return bool(found)


def remember(given: Mapping[str, str]) -> None:
    """Take passwords by address, which somebody typed into a form, or which another process of Shoal knows."""
    _known.update(given)


def all_passwords() -> dict[str, str]:
    """Return all passwords by address, to pass them to a child process."""
    return dict(_known)


def forget(address: str) -> None:
    """Forget a password that was wrong."""
    _known.pop(address, None)


def scrub_passwords(text: str) -> str:
    """Return a text without any password that was given."""
    for password in _known.values():
        text = text.replace(password, "***")
    return text
