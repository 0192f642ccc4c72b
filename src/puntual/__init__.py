"""A durable scheduler and task runner: at most one run per tick, on time, attempted at least once."""
