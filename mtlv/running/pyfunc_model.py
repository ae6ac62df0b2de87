"""Old import path of `PyfuncPlan`, kept for models logged by earlier releases."""

from mtlv.serving.pyfunc import PyfuncPlan

__all__ = ["PyfuncPlan"]
