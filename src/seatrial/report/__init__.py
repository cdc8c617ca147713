"""What may be concluded from runs: tables, figures, pages and what the terminal shows."""
