"""Starts a command of training/."""

import importlib
import pathlib
import sys


def launch(module: str) -> None:
    """Runs the main of notes.MODULE; where a package is missing, says where to read what to install."""
    try:
        main = importlib.import_module(f"notes.{module}").main
    except ModuleNotFoundError as missing:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {missing}; see Install in training/README.md")
    main()
