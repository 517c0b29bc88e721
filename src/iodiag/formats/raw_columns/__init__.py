"""What the header words of iostat and sar mean: canonical columns and factors, whatever the encoding."""
