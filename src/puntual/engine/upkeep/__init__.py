"""What somebody has to do once in a while; each duty is safe to be done twice, so the lease on it only saves work."""
