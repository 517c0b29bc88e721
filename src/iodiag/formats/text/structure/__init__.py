"""What each line of a text is: banner, command, header, row, context or noise."""
