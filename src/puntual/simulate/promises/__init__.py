"""The promises, each held to what happened: from the store, and from the record of effects made outside it."""
