"""mtlv: which text tasks should be learned together, and in what order?

A Plan (`mtlv.plan`) says who learns what with whom; everything else reads it.
"""

from mtlv._version import __version__

__all__ = ["__version__"]
