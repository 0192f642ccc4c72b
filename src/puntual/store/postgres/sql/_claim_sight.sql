json_build_array(
            -- The time was noted before: who has a later number than ours has read a later time.
            gate.noted, CASE WHEN $15::boolean THEN pg_current_xact_id()::text::bigint END,
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
            pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
            (
                SELECT coalesce(json_agg(new.queue), '[]'::json) FROM (
                    SELECT l.queue FROM puntual.lanes AS l WHERE $14::text[] IS NULL
                    EXCEPT SELECT jsonb_array_elements_text($6::jsonb)
                ) AS new
            ),
            (SELECT coalesce(json_agg(q.name), '[]'::json) FROM puntual.queues AS q WHERE q.paused),
            $claim_rooms,
            EXISTS (
                SELECT 1 FROM puntual.runs AS r
                WHERE
                    r.state = 'pending' AND r.lost > 1 AND r.claim_at <= gate.until AND r.task = ANY ($5::text[])
                    AND ($14::text[] IS NULL OR r.queue = ANY ($14::text[])) AND r.queue NOT IN ($claim_full)
            )
        )
