"""The store: tables, views and the transactions on them."""
