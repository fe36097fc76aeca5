"""`python -m gnc_cli` is `gnc`."""

from gnc_cli.cli import main

if __name__ == "__main__":
    main()
