"""What people look at: tables, figures and the report, made from records of figures."""
