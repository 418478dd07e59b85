"""Text as it is read: every letter as itself, and one kind of space."""

import re
from urllib.parse import unquote

# A letter beyond ASCII as an address writes it, such as the `%C3%B8` of `B%C3%B8rglum`: two, three or four bytes.
_NEXT = "%[89AB][0-9A-F]"
_ESCAPED = re.compile(f"%[CD][0-9A-F]{_NEXT}|%E[0-9A-F](?:{_NEXT}){{2}}|%F[0-7](?:{_NEXT}){{3}}", re.IGNORECASE)
_SPACE = re.compile(r"\s")


def spelt_out(text: str) -> str:
    """Escaped letters as letters, and every kind of space as a plain one; what spells no letter stays as it is.

    >>> spelt_out("Lene B%C3%B8rglum")
    'Lene Børglum'
    >>> spelt_out("100%20 %C3%28")
    '100%20 %C3%28'
    """
    return _SPACE.sub(" ", _ESCAPED.sub(lambda found: _letter(found[0]), text))


def _letter(escaped: str) -> str:
    try:
        return unquote(escaped, errors="strict")
    except UnicodeDecodeError:
        return escaped
