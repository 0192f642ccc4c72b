'id', s.id, 'revision', s.revision, 'spec', s.spec::json, 'created_at', s.created_at, 'updated_at', s.updated_at,
'pause', s.pause::json, 'cursor', json_build_object(
    'look_at', s.look_at, 'next_tick_at', s.next_tick_at, 'next_due_at', s.next_due_at,
    'last_tick_at', s.last_tick_at, 'last_number', s.last_number, 'seen_at', s.seen_at, 'caught_up', s.caught_up,
    'stretch', s.stretch::json, 'trouble', s.trouble, 'tzdata', s.tzdata
)
