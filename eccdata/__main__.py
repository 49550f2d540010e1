"""`python -m eccdata` is the command line."""

from eccdata.cli import main

main()
