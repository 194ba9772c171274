package redteam_test

// session is a client's settings: each of them decides how some value looks as text.
type session struct {
	name   string
	set    string
	binary bool // parameters are sent in binary form
}

// sessions are those that every kind of statement is asked in. In the time zones clocks go back and forth, by half an
// hour too, are off by quarters of an hour, or have abbreviations that PostgreSQL reads as another zone's.
var sessions = []session{
	{"plain", "", false},
	{"digits_few", "SET extra_float_digits = -15; SET TimeZone = 'UTC';", false},
	{
		"digits_zero", "SET extra_float_digits = 0; SET IntervalStyle = 'iso_8601'; SET TimeZone = 'America/New_York';",
		true,
	},
	{
		"digits_all",
		"SET extra_float_digits = 3; SET IntervalStyle = 'sql_standard'; SET DateStyle = 'ISO, YMD'; SET dpproxy.empty_groups = keep;", false,
	},
	{"kolkata", "SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kolkata';", false},
	{"overlap", "SET DateStyle = 'SQL, MDY'; SET TimeZone = 'EST5CST-20,M3.2.0,M11.1.0';", false},
	{"new_york", "SET DateStyle = 'Postgres, MDY'; SET TimeZone = 'America/New_York'; SET extra_float_digits = 0;", true},
	{"kathmandu", "SET DateStyle = 'German'; SET TimeZone = 'Asia/Kathmandu'; SET bytea_output = 'escape';", false},
	{"lord_howe", "SET TimeZone = 'Australia/Lord_Howe'; SET extra_float_digits = -15;", true},
	{"chatham", "SET DateStyle = 'SQL, DMY'; SET TimeZone = '<+1345>-13:45'; SET IntervalStyle = 'sql_standard';", false},
	{
		"postgres_dmy",
		"SET DateStyle = 'Postgres, DMY'; SET TimeZone = 'Asia/Kolkata'; SET IntervalStyle = 'iso_8601'; SET bytea_output = 'escape'; SET extra_float_digits = -5;", true,
	},
}

// analyst is the session's own: partition selection uses up a part of an analyst's delta.
func (s session) analyst() string { return "alice_" + s.name }
