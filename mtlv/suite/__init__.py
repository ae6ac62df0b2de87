"""A whole suite: its members are resolved, trained, tracked and compared; status and cleaning."""
