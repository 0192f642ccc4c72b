"""When things are due: rules and zones in, instants out; pure, with no clock and no randomness of its own."""
