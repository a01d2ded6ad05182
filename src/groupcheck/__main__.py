"""`python -m groupcheck`: the command line where its script is not on the path."""

from groupcheck.oracles.cli import main

if __name__ == "__main__":
    main()
