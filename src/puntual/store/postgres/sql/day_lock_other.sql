LOCK TABLE puntual.run_history_other, puntual.attempt_responses_other IN ACCESS EXCLUSIVE MODE
