"""Parts of a round's report besides its estimates, a module each; `registry` lists them."""
