"""The host side of training: loop, folder, checkpoints, loggers, display."""
