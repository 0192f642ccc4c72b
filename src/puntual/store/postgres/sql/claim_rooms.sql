-- What each limited queue may still run.
SELECT $claim_rooms::text
