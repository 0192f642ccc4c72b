"""Where runs and schedules are kept: the contract, and one folder per database."""
