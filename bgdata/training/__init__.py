"""Teaching players and scoring them."""
