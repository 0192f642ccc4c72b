-- A lease further away than its own length was written before a clock stepped back: it counts from now.
UPDATE workers SET lease_until = ?1 + lease_us WHERE ended_at IS NULL AND lease_until > ?1 + lease_us
