"""What a person or a program can ask of puntual, as plain JSON values: the same on a database and on a server."""
