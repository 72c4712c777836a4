"""``python -m shoal``: the command line."""

from shoal.apps.cli import main

if __name__ == "__main__":
    main(prog_name="shoal")
