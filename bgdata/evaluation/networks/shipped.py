"""The networks that come with the package, in folders <name>/<version>, and the default one."""

from __future__ import annotations

from pathlib import Path

KINDS = ("network", "supervised_network")  # learned by self-play, and from labels: both play as network/NAME
SHIPPED = Path(__file__).parent / "versions"  # docs/ship.py takes versions there, the ancestors of the default too
DEFAULT_NETWORK = "diverse-19"  # what plays as `network`
