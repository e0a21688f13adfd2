"""Published rows, and the places of shared files."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

# gnubg training data, contact, blog of 2012-02-12: the only real row in public text
TRAINING_ROW = b"NIKOIJADCANIGOAHADBA 0.61959 0.24388 0.00981 0.08774 0.00183\n"
# wildbg, a published row with the bar bug: backgammon chances although checkers seem off
WILDBG_BAD_ROW = b"mxmAQ4PbAQAAAA,0.9614198,0.8726852,0.36959878,0,0\n"
# bgsage, the published example: with two checkers off its gammon and backgammon losses can only be noise
BGSAGE_ROW = b"0 -2 5 3 -2 5 0 0 0 0 0 0 0 0 0 0 0 0 0 -3 -2 -2 -2 -1 -1 0 0.7823 0.4430 0.0480 0.0025 -0.0002\n"
# gnubg benchmark files, version 1.00: numbers with six digits, with seven decimals, with an exponent, in one play
BENCHMARK_ROWS = b"""\
m OAHDPAABDAOAHDPAABDA 2 4 JIGHPAABDAOAHDPAABDA 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133 OAHDOBABCEOAHDPAABDA \
0.0659233 OAHDMJABDAOAHDPAABDA 0.078762 OAHDPAABAJOAHDPAABDA 0.129732
m LGGNADALAANLOFAAAADM 3 6 LHODAAAADMLGGNADALAA -1.53972 NLMLAAAADMLGGNADALAA 0.00971758
m AAAAABNMAAAAAAAAAAAA 6 1 APAAAAAAAACAAAAAAAAA 0.345939 ALAAAAAAAABAAAAAAAAA 0
m APAAAAMALGPLIAAAAAAA 3 6 GNNNBHAAAAAPAAAAAAAA -1.16667 HGLLBHAAAAAPAAAAAAAA 0 GONLBHAAAAAPAAAAAAAA 0 \
LGLLAPAAAAAPAAAAAAAA 6.07967e-06
m KOACAAAAPAMPKCMAAAAA 1 4 MIDPMFIAABKOACAAAAAA -1.9990100 NADPMDIAABKOACAAAAAA 0.0000000 NADPEDEBABKOACAAAAAA \
0.0000000 OAJPMFAIABKOACAAAAAA 0.0000061 OAJPEFIJAAKOACAAAAAA 0.0000061 OAJPINEAABKOACAAAAAA 0.0000061 \
MIDPEFEBABKOACAAAAAA 0.0007760
m NPIPANAAAAPPDOAACAAI 5 2 PPDOEAAAAINPIPANAAAA -0.770323 PPDOAAEIAANPIPANAAAA 0.163798
"""
SETTINGS = b"s version 1.93 weights 1.00 moves2plyLimit 20 rolloutLimit 5 nRollOutGames 1296 cubeAway 7 include0Ply 1\n"


def shared_file(*parts: str) -> Path:
    """A file of the shared data; skips the test if it is missing."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} in {SHARED}")
    return path
