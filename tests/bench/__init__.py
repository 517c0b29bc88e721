"""How fast iodiag reads and judges, beside other tools, in turn in one run."""
