"""Mathematics of learning: arrays in, arrays out, no configuration."""
