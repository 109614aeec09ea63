"""`xstar completion`: a script that lets a shell complete commands, options and files of `xstar`."""

from __future__ import annotations

import argparse

from xstar.cli.console import Console
from xstar.errors import SettingsError

SUMMARY = "print a script that completes commands and options in a shell"
DETAILS = """

  xstar completion bash > ~/.local/share/bash-completion/completions/xstar
  xstar completion zsh > ~/.zfunc/_xstar        (with ~/.zfunc in fpath)
  xstar completion fish > ~/.config/fish/completions/xstar.fish

Making the script needs shtab: pip install 'xstar[completion]'. The script itself needs nothing, and does not start
Python. Make it again after an update of xstar."""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(json=False)
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the script."""
    from xstar.cli.parser import build_parser

    try:
        import shtab
    except ImportError as error:
        raise SettingsError(
            "the script is made by shtab, which is not installed: pip install 'xstar[completion]'."
        ) from error
    parser = build_parser(file=shtab.FILE)
    console.hand_over(shtab.complete(parser, options.shell).rstrip("\n"))
    return 0
