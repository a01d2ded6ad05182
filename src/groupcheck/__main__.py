"""`python -m groupcheck` is the command `groupcheck`."""

from groupcheck.oracles.command_line.cli import main

if __name__ == "__main__":
    main()
