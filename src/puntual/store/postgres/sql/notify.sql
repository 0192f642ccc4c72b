-- $1 texts, $2 channel. A hint is worth no flush of the log, nor a standby's answer.
SELECT set_config('synchronous_commit', 'off', true), count(pg_notify($2::text, said.text) IS NULL)
FROM unnest($1::text[]) AS said (text)
