"""What commands and flows share: steps that find what names stand for, and build versions from it."""
