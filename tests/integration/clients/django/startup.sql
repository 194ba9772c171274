-- django: startup

SET TIME ZONE 'America/Chicago'
;
