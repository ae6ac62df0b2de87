"""Tables as corpora: files of rows, their cells, and Hugging Face data sets."""
