DELETE FROM leases WHERE name = 'upkeep' AND holder = ?1
