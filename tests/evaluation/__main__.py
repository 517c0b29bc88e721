"""`python -m evaluation FOLDER...`."""

from evaluation.run import main

if __name__ == "__main__":
    main()
