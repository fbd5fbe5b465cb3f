-- How much of a generation its backend has done, in hundredths; null where it does not say.
ALTER TABLE generations ADD COLUMN progress INTEGER;
