"""What the command line and the API can do, once: on a database (``local``), or on a server."""
