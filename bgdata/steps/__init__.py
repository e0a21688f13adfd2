"""Steps that commands and flows share: they resolve names, and build versions from them."""
