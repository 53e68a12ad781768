"""`python -m fedsched.cli` is the command `fedsched`."""

from fedsched.cli import main

main()
