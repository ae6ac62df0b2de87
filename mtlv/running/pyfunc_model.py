"""The old path of `PyfuncPlan`: models that were logged before name it, and go on loading."""

from mtlv.serving.pyfunc import PyfuncPlan

__all__ = ["PyfuncPlan"]
