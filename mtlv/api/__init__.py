"""The Python API; its names are available in `mtlv`."""
