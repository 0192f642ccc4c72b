SELECT json_group_array($schedule_and_last) FROM json_each(?1) AS j CROSS JOIN schedules AS s ON s.name = j.value
