INSERT INTO leases (name, holder, lease_us, lease_until) VALUES ('upkeep', ?1, ?2, ?3 + ?2)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, lease_us = excluded.lease_us, lease_until = excluded.lease_until
WHERE leases.holder = excluded.holder OR leases.lease_until <= ?3 - ?4
