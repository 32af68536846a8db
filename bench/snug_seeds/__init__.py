"""Published tables that snug began from, S0, S1, S3 and S4 (docs/seeds.md), run again beside today's peers."""
