"""Settings and data become plans, and plans become jobs; a config is proven before it is run."""
