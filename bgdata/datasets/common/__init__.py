"""What several kinds of dataset share."""
