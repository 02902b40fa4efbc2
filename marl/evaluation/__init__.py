"""How well a team plays: the protocol, its statistics, published figures, reports."""
