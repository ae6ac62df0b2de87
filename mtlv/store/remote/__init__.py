"""A store at an address that several machines reach, with a folder of each as its cache."""
