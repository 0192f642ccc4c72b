SELECT max(version) FROM puntual.schema_migrations
