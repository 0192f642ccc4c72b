json_object(
    'id', s.id, 'revision', s.revision, 'spec', json(s.spec), 'created_at', s.created_at, 'updated_at', s.updated_at,
    'pause', json(s.pause), 'cursor', json_object(
        'look_at', s.look_at, 'next_tick_at', s.next_tick_at, 'next_due_at', s.next_due_at,
        'last_tick_at', s.last_tick_at, 'last_number', s.last_number, 'seen_at', s.seen_at, 'caught_up', s.caught_up,
        'stretch', json(s.stretch), 'trouble', s.trouble, 'tzdata', s.tzdata
    )
)
