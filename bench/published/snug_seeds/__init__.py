"""Published tables that snug began from, S0 to S4 (docs/seeds.md), run again beside today's peers."""
