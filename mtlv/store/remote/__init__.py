"""A store at an address that several machines can reach, with a local folder on each as its cache."""
