"""Networks: embedding, recurrent core, heads, and the factory that puts them together."""
