"""One unit: its inputs, its model, training, validation, checkpoints."""
