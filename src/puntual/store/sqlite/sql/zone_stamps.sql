-- How many schedules that tick on have each version of the tz database.
SELECT json_group_array(json_array(coalesce(tzdata, ''), held))
FROM (SELECT tzdata, count(*) AS held FROM schedules WHERE next_tick_at IS NOT NULL AND trouble IS NULL GROUP BY tzdata)
