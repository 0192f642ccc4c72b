UPDATE leases SET lease_until = ?1 + lease_us WHERE name = 'upkeep' AND lease_until > ?1 + lease_us
