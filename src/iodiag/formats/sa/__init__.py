"""sysstat's binary files, of every release."""
