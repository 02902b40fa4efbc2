"""What a program on this machine needs around its work: folders, signals, progress, exit codes."""
