"""What can be asked of a store by whoever is not a worker: enqueue, look up, steer. One module per thing."""
