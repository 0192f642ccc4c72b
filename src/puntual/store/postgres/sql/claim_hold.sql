-- One claimer at a time counts a limited queue's runs and claims from it; who does not get it moves on.
SELECT pg_try_advisory_xact_lock(hashtext('puntual.claim'), hashtext($1::text))
