json_build_object($schedule_parts)
