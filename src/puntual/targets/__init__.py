"""What runs do: call a function, send an HTTP request, run a command."""
