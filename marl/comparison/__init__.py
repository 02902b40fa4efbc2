"""Tables and plots of many evaluations, beside published figures."""
