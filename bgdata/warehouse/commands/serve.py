"""`bgdata serve`: the explorer, a read-only site over a warehouse."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

import click

from bgdata.cli.defaults import build_small_tables
from bgdata.cli.options import refuse_beside, value_option
from bgdata.errors import StorageError, UsageError, cite, needing
from bgdata.warehouse import Warehouse

LOCAL = ("127.0.0.1", "localhost", "::1")


@click.command()
@value_option(
    "--host", LOCAL[0], "ADDRESS", "Address to listen on. Others than this machine's own let anybody on the network in."
)
@value_option("--port", 8000, "N", "Port to listen on; 0 takes a free one.", type=click.IntRange(0, 65_535))
@click.option(
    "--static",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the pages that need no server into this folder, and end.",
)
@click.option(
    "--files",
    "with_files",
    is_flag=True,
    help="With --static: put the files of all tables beside the pages, to be downloaded; linked where they can be.",
)
@click.option(
    "--import",
    "takes_matches",
    is_flag=True,
    help="Take match files on a page, whose address is printed, into the library of this warehouse.",
)
@click.pass_obj
def serve(
    warehouse: Warehouse, host: str, port: int, folder: Path | None, with_files: bool, takes_matches: bool
) -> None:
    """Show the warehouse as a site in the browser.

    The site shows positions with everything known about them, tables with their proofs, match equity tables, claims,
    scores, games, openings, and SQL. It needs no other server, works without JavaScript, and answers JSON at the same
    addresses, with .json behind them. The site only reads.

    With --import it also writes: match files that are dropped on a page, whose address nobody else knows, become the
    variant matches/uploaded and are analysed, 0-ply unless the page is told otherwise. Only this machine reaches it.

    Everybody who can reach the address can read all tables of the warehouse, and let this machine compute. Unless that
    is meant, leave --host as it is.

    \b
      bgdata serve
      bgdata serve --port 9000 --warehouse ~/tables
      bgdata serve --host 0.0.0.0
      bgdata serve --static pages --files
      bgdata serve --import
    """
    if with_files and folder is None:
        raise UsageError("expected --static with --files, got none")
    if folder is not None:
        refuse_beside("--static", "host", "port", "takes_matches")
        warehouse.require()
        with needing("web", "for the site"):
            from bgdata.web.static_site import write_static
        click.echo(f"wrote {write_static(warehouse, folder, with_files=with_files)} pages into {folder}", err=True)
        return
    with needing("web", "for the site"):
        import uvicorn

        from bgdata.web.app import LOOPBACK, create_app
        from bgdata.web.connections import Connection

        if takes_matches:
            import python_multipart  # noqa: F401 - reads the forms
    if not host:
        raise UsageError("expected an address to listen on, got ''; 0.0.0.0 is all of them")
    is_local = host in LOCAL
    if takes_matches and not is_local:
        raise UsageError(f"expected --host {', '.join(LOCAL[:-1])} or {LOCAL[-1]} with --import, got {cite(host)}")
    build_small_tables(warehouse)
    warehouse.require()
    token = secrets.token_urlsafe(16) if takes_matches else ""
    app = create_app(warehouse, hosts=LOOPBACK if is_local else (), is_warm=True, token=token)
    with listening_socket(host, port) as listener:
        where = f"[{host}]" if ":" in host else host
        address = f"http://{where}:{listener.getsockname()[1]}/"
        click.echo(f"serving {warehouse.root} at {address} (stop with Ctrl-C)", err=True)
        if token:
            click.echo(f"taking match files at {address}import/{token}", err=True)
        if not is_local:
            click.echo(
                f"warning: anybody who reaches {host} can read all tables of {warehouse.root} and run queries", err=True
            )
        config = uvicorn.Config(
            app, http=Connection, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=30
        )
        uvicorn.Server(config).run(sockets=[listener])


def listening_socket(host: str, port: int) -> socket.socket:
    """Open a socket that listens at a host and port, without Nagle's algorithm, which would delay the body of each
    answer by 40 ms. Raises StorageError if the port cannot be used."""
    try:
        found = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    except OSError as error:
        raise StorageError(f"expected an address to listen on, got {host}:{port}: {error.strerror}") from error
