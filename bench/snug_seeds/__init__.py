"""The tables of the source documents S0, S1, S3 and S4, regenerated beside today's peers."""
