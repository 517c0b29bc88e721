"""``python -m iodiag``."""

from iodiag.cli import main

main()
