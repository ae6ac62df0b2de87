"""Loads this folder with the installed package `mtlv`. No pickle is read."""

from mlflow.models import set_model

from mtlv.running.pyfunc_model import PyfuncPlan

set_model(PyfuncPlan())
