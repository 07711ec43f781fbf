"""``python -m sdfgad``: the same as the command ``sdfgad``."""
from sdfgad.cli import main

if __name__ == "__main__":
    main()
