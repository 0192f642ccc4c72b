"""``puntual token``: who may use the API. A token's text is shown once, when it is made."""

from __future__ import annotations

from typing import Any

import click

from puntual.cli.options import Group, where
from puntual.cli.session import Session
from puntual.cli.words import clean, when


@click.group(cls=Group)
def token() -> None:
    """Create, list and revoke API tokens."""


@token.command()
@click.option("--scope", type=click.Choice(["read", "operate", "admin"]), required=True, help="What it may do.")
@click.option("--name", metavar="TEXT", help="Whose it is, or what for.")
@click.option("--expires", metavar="T|D", help="Until this instant, or for this long.")
@click.pass_obj
def create(session: Session, /, **given: str | None) -> None:
    """Make a token and show its text, this once."""
    reply = session.work(lambda operations: operations.create_token(where(given)), creates=True)

    def show() -> None:
        click.echo(clean(reply["token"]))
        click.echo("This is the only time it is shown: keep it in a file, for PUNTUAL_TOKEN_FILE.", err=True)

    session.give(reply, lambda _console: show())


@token.command("list")
@click.pass_obj
def list_tokens(session: Session) -> None:
    """List tokens, without their text."""
    reply = session.work(lambda operations: operations.list_tokens())
    session.give(reply, lambda console: _show(session, console, reply["items"]))


@token.command()
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke(session: Session, /, token_id: str) -> None:
    """Forget a token: it opens nothing from now on."""
    reply = session.work(lambda operations: operations.revoke_token(token_id))
    session.give(reply, lambda console: console.print(f"{clean(token_id)} is revoked."))


def _show(session: Session, console: Any, items: list[dict[str, Any]]) -> None:  # noqa: ANN401 - a Console
    from puntual.cli.tables import empty, table

    if not items:
        empty(console, "There is no token.", "token create --scope read")
        return
    rows = [
        (
            item["id"],
            item["name"],
            item["scope"],
            f"{item['prefix']}…",
            when(item["created_at"], session.now),
            when(item.get("expires_at"), session.now) or "never",
        )
        for item in items
    ]
    table(console, ("!ID", "Name", "!Scope", "~Begins", "~Created", "!Expires"), rows)
