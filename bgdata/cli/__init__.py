"""The command line: the commands, and for each the module of `bgdata` that defines it."""

from __future__ import annotations

import click

from bgdata.cli.grammar import Commands, give_warehouse
from bgdata.version import __version__

SECTIONS = {  # name of the command: (module, first line of the help)
    "tables": {
        "list": ("warehouse.commands.listing", "List the kinds of dataset, and the versions that are there."),
        "explain": ("warehouse.commands.listing", "Explain NAME: a kind, table, view or macro of SQL."),
        "query": ("warehouse.commands.query", "Run one SQL query on the tables."),
        "serve": ("warehouse.commands.serve", "Show the warehouse as a site in the browser."),
        "build": ("warehouse.commands.build", "Build a variant of a KIND, or the whole default warehouse."),
        "rebuild": ("warehouse.commands.verify", "Build the default tables again, and compare them."),
        "verify": ("warehouse.commands.verify", "Prove the warehouse: hashes, values, checks, samples."),
        "diff": ("warehouse.commands.compare", "Compare two tables, or the warehouse with its lock."),
        "export": ("warehouse.commands.export", "Write tables in other programs' formats."),
        "publish": ("publishing.commands", "Publish tables as one folder for hubs and colleagues."),
    },
    "positions": {
        "show": ("evaluation.commands.positions", "Draw a POSITION and name it in every format."),
        "eval": ("evaluation.commands.positions", "Evaluate a POSITION: chances, equity, and their source."),
        "hint": ("evaluation.commands.positions", "Rank the plays of a ROLL in a POSITION, best first."),
        "cube": ("evaluation.commands.positions", "Decide about the cube in a POSITION before the roll."),
        "rollout": ("selfplay.commands.rollout", "Roll out a POSITION, or the plays of a ROLL."),
        "probe": ("evaluation.commands.probe", "Look a position up in every exact and one-sided table."),
    },
    "players": {
        "play": ("protocols.commands.play", "Play a game in the terminal, or watch one."),
        "external": ("protocols.commands.external", "Play games against gnubg, which connects to this command."),
        "ubgi": ("protocols.commands.external", "Answer as an engine, in lines of UBGI."),
        "fibs": ("protocols.commands.fibs", "Play a match on FIBS, the First Internet Backgammon Server."),
        "score": ("measures.commands.score", "Measure how good a PLAYER is, in every way available here."),
        "ladder": ("measures.commands.ladder", "Rate PLAYERS by the games of all pairings."),
        "compare": ("measures.commands.score", "Compare PLAYERS by theme, or on the same decisions."),
        "benchmark": ("measures.commands.benchmark", "Score a PLAYER on rolled-out decisions, or in whole games."),
        "referee": ("measures.commands.benchmark", "Score a PLAYER on decisions that an exact table has solved."),
        "analyze": ("matches.commands.analyze", "Judge the luck, plays and cube actions of a MATCH."),
        "matches": ("matches.commands.library", "List the imported matches, or report on a PLAYER."),
        "quiz": ("matches.commands.quiz", "Ask decisions that you erred in, or that others rolled out."),
        "luck": ("matches.commands.luck", "Say how lucky and how skilful the players of a MATCH were."),
    },
    "corpora": {
        "import": ("imports.commands", "Import FILES of other programs as one variant of a KIND."),
        "fetch": ("imports.commands", "Download data that others publish; without NAME, list them."),
        "selfplay": ("selfplay.commands.selfplay", "Let a player play itself, and keep every turn."),
        "label": ("selfplay.commands.labels", "Label the positions of a SOURCE by an engine."),
        "rescore": ("selfplay.commands.selfplay", "Label a CORPUS with outcomes, rescored by exact tables."),
        "decisions": ("selfplay.commands.labels", "Make a benchmark: decisions of a CORPUS, rolled out."),
        "reference": ("measures.commands.reference", "Make reference positions of every theme, rolled out."),
        "check-reference": ("measures.commands.reference", "Roll out a sample of the reference positions again."),
    },
    "training": {
        "train": ("training.commands.train", "Train networks, and plot their learning curves."),
    },
    "studies": {
        "met": ("equity.commands", "Build, show, compare and draw match equity tables."),
        "openings": ("openings.commands", "Roll out the opening book, and show it."),
        "cube-life": ("studies.commands.studies", "Measure the cube life index in solved bearoffs."),
        "race-error": ("bearoff.commands", "Compare one-sided tables with an exact one, pair by pair."),
        "race-rules": ("studies.commands.race_rules", "Score rules of thumb for the cube in solved races."),
        "study": ("studies.commands.studies", "Run a STUDY of cube handling beside published figures."),
        "claims": ("studies.commands.claims", "Print published numbers, and whether they can be reproduced."),
    },
    "housekeeping": {
        "push": ("warehouse.commands.transfer", "Send versions to a store such as S3, or to a folder."),
        "pull": ("warehouse.commands.transfer", "Fetch versions from a store such as S3, or from a folder."),
        "use": ("warehouse.commands.housekeeping", "Make a VERSION the current one of its variant."),
        "rm": ("warehouse.commands.housekeeping", "Delete a VERSION that nothing depends on."),
        "gc": ("warehouse.commands.housekeeping", "Delete versions and staging folders that are not needed."),
        "lock": ("warehouse.commands.verify", "Write warehouse.lock from what is built."),
        "catalog": ("warehouse.commands.build", "Write the SQL catalog again, for instance after a move."),
        "diagnose": ("warehouse.commands.diagnose", "Describe this installation, for a report of a fault."),
        "completion": ("warehouse.commands.housekeeping", "Print a script that lets a SHELL complete names."),
    },
}


@click.group(
    name="bgdata", cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(__version__, help="Show the version and exit.")
def main(debug: bool) -> None:
    """Build, prove and query backgammon databases, and play by them.

    \b
      bgdata build                                     the default tables: a few minutes
      bgdata hint 4HPwATDgc/ABMA 31                    the best plays of a roll
      bgdata query "from bearoff_two_sided limit 5"    anything else, in SQL

    A POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start. Data go to standard output,
    everything else to standard error. Exit codes: 0 done, 1 failed or found to differ, 2 wrong usage, 130
    interrupted.
    """


main.sections = SECTIONS
give_warehouse(main)
