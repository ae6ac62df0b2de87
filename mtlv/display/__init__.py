"""What a person sees on a terminal, or in a file instead: progress and tables."""
