LOCK TABLE puntual.run_history_DATE, puntual.attempt_responses_DATE IN ACCESS EXCLUSIVE MODE
