"""Where models that are in MLflow already look for their class; the code is in `mtlv.serving`."""
