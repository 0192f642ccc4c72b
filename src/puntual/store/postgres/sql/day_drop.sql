-- In the order in which a settle writes to them.
DROP TABLE puntual.run_history_DATE;
DROP TABLE puntual.attempt_responses_DATE;
