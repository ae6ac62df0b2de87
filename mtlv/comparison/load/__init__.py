"""Reading runs from a store for a comparison."""
