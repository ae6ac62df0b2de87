"""mtlv as a library; its names are those of `mtlv` itself."""
