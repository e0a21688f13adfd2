"""Small corruptions of text lines: bytes flipped, cut, doubled, exchanged, and difficult bytes inserted."""

import random

SPICE = [
    b"\n", b"\r\n", b"\0", b"\xff", b" ", b"\t", b",", b"#", b"-", b"e", b"nan", b"9" * 30, b"A", b"\xef\xbb\xbf",
    b":", b"[", b"1e400", b"-" + b"9" * 400, b"inf", b"1_0", b"0x1p3",
    "１٣½".encode(),  # digits of other scripts
    "ö𝄞\u0301".encode(),
    "\u2028".encode(), "\u0085".encode(), b"\x0b", b"\x1c",  # end a line for some
    b"\r", b"\x1a", b"x" * 5000, b"&lt;<a b='", b"../../x", b"'; drop table x; --",
]  # fmt: skip


def corrupt_line(line: bytes, chance: random.Random) -> bytes:
    """The line with up to three corruptions; one in four is unchanged."""
    for _ in range(chance.randrange(4)):
        place, other = sorted((chance.randrange(len(line) + 1), chance.randrange(len(line) + 1)))
        line = chance.choice(
            [
                line[:place] + chance.choice(SPICE) + line[place:],
                line[:place] + line[place + 1 :],
                line[:place] + bytes([chance.randrange(256)]) + line[place + 1 :],
                line[:place] + chance.choice(b"0123456789ABCDEFGHIJKLMNOP ./").to_bytes() + line[place + 1 :],
                line[:place] + line[other:],
                line[:other] + line[place:],
            ]
        )
    return line


def corrupt_lines(lines: list[bytes], count: int, chance: random.Random) -> bytes:
    """At least `count` lines, each a corrupted copy of one of these."""
    return b"".join(corrupt_line(chance.choice(lines), chance) for _ in range(count))
