"""Old import path of logged models; the code is in `mtlv.serving`."""
