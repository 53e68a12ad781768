"""`python -m fedsched.cli` is the command `fedsched`."""

from fedsched.cli import main

if __name__ == "__main__":  # MPI workers import this module too
    main()
