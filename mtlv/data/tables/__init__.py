"""Tables as corpora: files of rows, their cells, and data sets of Hugging Face."""
