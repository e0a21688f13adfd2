"""`bgdata ubgi`: the player as an engine for other programs."""

from __future__ import annotations

from typing import Any

import click

from bgdata.cli.options import met_option, player_options
from bgdata.protocols.commands.external import decisions_of
from bgdata.warehouse import Warehouse


@click.command()
@met_option
@player_options
@click.pass_obj
def ubgi(warehouse: Warehouse, /, **options: Any) -> None:
    """Answer as an engine, in lines of UBGI.

    UBGI is the Universal Backgammon Interface: programs that let engines play start this command, and speak to it by
    its standard input and output. The word keys lists what they may set: plies, trials of rollouts, their seed and
    others.

    \b
      bgdata ubgi
      bgdata ubgi --ply 1 --network diverse-19
    """
    from bgdata.evaluation.talk import Talk
    from bgdata.protocols.ubgi import UbgiEngine

    engine = UbgiEngine(decisions_of(warehouse, options))
    for _ in engine.conversation(Talk(0, 1, "the asking program")):
        pass
