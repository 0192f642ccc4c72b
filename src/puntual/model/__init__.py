"""What things are: tasks, schedules, runs, attempts, outcomes and the policies that join them. No clock, no I/O."""
