# SPDX-License-Identifier: Apache-2.0
"""`unsnarl completion SHELL`: the script that completes commands and options in a shell."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that completes unsnarl's commands in a shell.

    \b
    Examples:
      unsnarl completion bash > ~/.local/share/bash-completion/completions/unsnarl
      unsnarl completion zsh > ~/.zfunc/_unsnarl
      unsnarl completion fish > ~/.config/fish/completions/unsnarl.fish
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415  not for --help

    kind = get_completion_class(shell)
    assert kind is not None
    command = context.find_root().command
    click.echo(kind(command, {}, "unsnarl", "_UNSNARL_COMPLETE").source())
    return 0
