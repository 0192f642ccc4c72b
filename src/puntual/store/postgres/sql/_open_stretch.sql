(s.stretch::json ->> 0)::bigint, (s.stretch::json ->> 1)::bigint, (s.stretch::json ->> 2)::bigint,
(s.stretch::json ->> 3)::bigint, (s.stretch::json ->> 4)::boolean, s.stretch::json ->> 5, s.stretch::json ->> 6
