"""The deterministic simulation: the real engine on virtual time, faults from a seed, and its promises held to it."""
