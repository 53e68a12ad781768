"""`python -m fedsched.cli` is the command `fedsched`."""

from fedsched.cli import main

if __name__ == "__main__":  # workers of MPI import it too
    main()
