"""The nouns that everything speaks of, what is measured on them, and what checks them."""
