"""An example of a package that adds choices to mtlv: copy what you need."""
