-- Answers that idempotency keys give again lie encrypted from now on. Those that lie readable are forgotten: they would
-- have been a day later anyway.

DELETE FROM idempotency_keys;
ALTER TABLE idempotency_keys RENAME COLUMN body TO sealed;
