"""A trained run as one model that predicts texts."""
