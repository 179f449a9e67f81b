"""`python -m assay`."""

from assay.cli import program

if __name__ == "__main__":
    program()
