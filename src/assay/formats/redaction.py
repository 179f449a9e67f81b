"""Taking personal data out of texts that users typed, before the texts leave the house.

The patterns are few and are read by Rust's regular expressions, whose time grows with the length of a text and nothing
else. They rather take too much than too little; names of people and postal addresses they do not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# What is looked for, in this order, and what is put in its place.
PATTERNS: tuple[tuple[str, str], ...] = (
    (r"(?i)\b[a-z][a-z0-9+.-]{1,20}://\S*[?#@]\S*", "[url]"),  # an address with a query, a fragment or a password
    (r"(?i)[\p{L}0-9._%+-]+@[\p{L}0-9-]+(?:\.[\p{L}0-9-]+)+", "[email]"),
    (r"\b[A-Za-z0-9_\-]{32,}\b", "[token]"),  # keys, sessions, UUIDs
    (r"\b\d{1,3}(?:\.\d{1,3}){3}\b", "[ip]"),
    (r"\+\d(?:[ .()\-]{0,2}\d){6,}", "[number]"),  # a telephone number with its country
    (r"\d(?:[ .()\-]{0,2}\d){8,}[xX]?", "[number]"),  # nine digits and more: telephone, card, account, identity
)


def redact(text: pl.Expr) -> pl.Expr:
    """A column of texts without e-mail and IP addresses, telephone and other long numbers, tokens and private URLs."""
    for pattern, word in PATTERNS:
        text = text.str.replace_all(pattern, word)
    return text
