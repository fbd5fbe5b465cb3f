-- Jobs that ran at many ends of their process in a row: the first start without one clears them, wherever they wait.
CREATE INDEX jobs_suspects ON jobs (id) WHERE crashes >= 10;
