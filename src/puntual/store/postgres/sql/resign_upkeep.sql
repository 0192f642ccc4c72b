DELETE FROM puntual.leases WHERE name = 'upkeep' AND holder = $1::text
