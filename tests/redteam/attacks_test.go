package redteam_test

// attacks are statements that once broke the promise, or are built like those that did: values that main would read as
// one although they were counted as several. They are asked in all sessions.
func attacks() []statement {
	var all []statement
	for i, sql := range []string{
		// Keys of a computed domain that fewer digits make equal: one group has many ordinals.
		`SELECT count(*), avg(n) FROM (SELECT CASE WHEN name = 'Ann' THEN 0.1::float8 ELSE 0.1::float8 + (1 + age * 100 + width_bucket(income, 0, 500000, 40)) / 1e9 END AS k, count(*) AS n FROM patients WHERE age IS NOT NULL GROUP BY 1) s WHERE k = 0.1`,
		`SELECT CASE WHEN smoker THEN 0.1::float8 WHEN age > 30 THEN 0.30000000000000004::float8 ELSE 0.3::float8 END AS k, count(*), avg(score) FROM patients GROUP BY k`,
		`SELECT f, count(*) FROM (SELECT patient_id, CASE WHEN b THEN 1e0::real ELSE 1.0000001::real END AS f FROM samples) s GROUP BY f`,
		`SELECT DISTINCT CASE WHEN smoker THEN 0.1::float8 ELSE 0.10000000000000002::float8 END FROM patients`,
		// Instants that a session prints alike, or that are read in another zone than they were printed in.
		`SELECT k, count(*) FROM (SELECT CASE WHEN urgent THEN timestamptz '2020-11-01 05:30:00+00' ELSE timestamptz '2020-11-01 06:30:00+00' END AS k, minutes FROM visits) s GROUP BY k`,
		`SELECT tk, count(*) FROM samples GROUP BY tk`,
		`SELECT date_trunc('hour', tz) AS h, count(*) FROM samples WHERE tz BETWEEN '2020-11-01 04:00+00' AND '2020-11-01 08:00+00' GROUP BY h`,
		`SELECT count(*) FROM patients p JOIN (VALUES (timestamptz '2020-11-01 05:30:00+00'), (timestamptz '2020-11-01 06:30:00+00'), (timestamptz '2020-04-04 15:15:00+00')) AS x(k) ON x.k = p.seen`,
		`SELECT count(*) FROM patients p JOIN (VALUES (timestamptz '2020-06-15 18:30:00+00'), (timestamptz '2020-06-15 13:00:00+00'), (timestamptz '2020-06-15 15:00:00+00')) AS x(k) ON x.k = p.seen`,
		`SELECT count(*) FROM (SELECT id, (CASE WHEN name = 'Ann' THEN date '2019-11-03' ELSE date '2000-01-01' END)::timestamptz AS a FROM patients) p
			WHERE (SELECT x.k FROM (VALUES (timestamptz '2019-11-03 05:00:00+00'), (timestamptz '2019-11-02 03:00:00+00')) x(k) WHERE x.k = p.a) IS NOT NULL`,
		`SELECT count(*) FROM (SELECT id, CASE WHEN smoker THEN timestamptz '2020-11-01 05:30:00+00' ELSE timestamptz '2020-11-01 06:30:00+00' END AS a FROM patients) p
			JOIN (VALUES (timestamptz '2020-11-01 05:30:00+00'), (timestamptz '2020-11-01 06:30:00+00')) x(k) ON x.k = p.a`,
		`SELECT count(*) FROM (SELECT id, CASE WHEN name LIKE 'A%' THEN timestamptz '2020-06-15 18:30:00+00' END AS a FROM patients) p WHERE a IN (SELECT k FROM generate_series(timestamptz '2020-06-15 00:30:00+00', '2020-06-16 00:00+00', '30 min') k)`,
		`SELECT count(*) FROM (SELECT id, (CASE WHEN smoker THEN date '2019-11-03' ELSE date '2000-01-01' END)::timestamptz AS a FROM patients) p
			JOIN (VALUES (timestamptz '2019-11-03 05:00:00+00'), (timestamptz '2019-11-02 03:00:00+00')) x(k) ON x.k = p.a`,
		`SELECT CASE WHEN smoker THEN timestamptz '2019-11-03 05:00:00+00' ELSE timestamptz '2019-11-02 03:00:00+00' END AS k, count(*) FROM patients GROUP BY k`,
		// Floats that are constants of a join.
		`SELECT count(*) FROM patients p JOIN (VALUES (0.1::float8), (0.10000000000000002), (0.30000000000000004), (0.3), ('NaN')) AS x(k) ON x.k = p.weight`,
		`SELECT x.k, count(*) FROM (SELECT id, CASE WHEN smoker THEN 0.1::float8 ELSE 0.2 END AS w FROM patients) p JOIN (VALUES (0.1::float8), (0.10000000000000001), (0.10000000000000002)) AS x(k) ON x.k = p.w GROUP BY x.k`,
		`SELECT count(*) FROM (SELECT id, CASE WHEN smoker THEN 0.1::float8 ELSE 0.2 END AS w FROM patients) p WHERE (SELECT x.k FROM (VALUES (0.1::float8), (0.10000000000000002)) x(k) WHERE x.k = p.w) IS NOT NULL`,
		`SELECT m.label, count(*) FROM samples s JOIN moments m ON m.f = s.f GROUP BY m.label`,
		`SELECT m.*, count(*) FROM samples s JOIN moments m ON m.at = s.tk GROUP BY m.at`,
		`SELECT m.label, m.f, s.b, count(*), avg(s.f) FROM samples s LEFT JOIN moments m ON m.at = s.tk AND s.b GROUP BY m.label, m.f, s.b`,
		`SELECT count(*) FROM samples s JOIN moments m ON m.at = s.tz`,
		// Texts that are equal under the column's collation alone.
		`SELECT ci, count(*) FROM samples GROUP BY ci`,
		`SELECT k, count(*) FROM (SELECT patient_id, CASE WHEN ci = 'ann' THEN 'ann' COLLATE ci WHEN b THEN 'ANN' ELSE 'Ann' END AS k FROM samples) s GROUP BY k`,
		`SELECT CASE WHEN b THEN 'ann' ELSE 'ANN' END COLLATE ci AS k, count(*) FROM samples GROUP BY 1`,
		`SELECT count(*) FROM samples s JOIN (VALUES ('ann'), ('ANN')) AS x(k) ON x.k = s.ci`,
		`SELECT count(*) FROM (SELECT DISTINCT patient_id, ci FROM samples) s`,
		`SELECT ci, count(DISTINCT plain) FROM samples GROUP BY ci`,
		`SELECT count(DISTINCT ci), count(DISTINCT plain), count(DISTINCT f), count(DISTINCT iv), count(DISTINCT n) FROM samples`,
		`SELECT CASE WHEN lefty THEN ci ELSE 'ANN' END AS k, count(*) FROM faces GROUP BY k`,
		`SELECT ci, count(*) FROM faces GROUP BY ci`,
		`SELECT plain, count(*) FROM faces GROUP BY plain`,
		`SELECT coalesce(ci, 'BOB') AS k, count(*) FROM faces GROUP BY k`,
		`SELECT upper(ci) AS k, count(*) FROM faces GROUP BY k`,
		`SELECT count(*) FROM (SELECT ci AS k, count(*) AS n FROM faces GROUP BY ci) s WHERE k = 'ANN'`,
		`SELECT count(*) FROM faces f JOIN (VALUES ('ann'), ('ANN'), ('Ann')) AS x(k) ON x.k = f.ci`,
		`SELECT f.ci, count(*) FROM faces f JOIN moments m ON m.at = f.tk GROUP BY f.ci`,
		// A float that two units are equal as.
		`SELECT count(*) FROM (SELECT id::float8 AS u, age FROM patients UNION ALL SELECT patient_id, minutes FROM visits) s`,
		`SELECT count(*) FROM patients p JOIN visits v ON v.patient_id::float8 = p.id::float8`,
		// A value that comes with several integers, of which a unit counts with some.
		`SELECT SUM(DISTINCT (CAST(FLOOR(COALESCE(v.minutes, 0) * (1000000*1.0)) AS DECIMAL(65))) + ('x' || MD5(v.urgent::varchar))::bit(64)::bigint::DECIMAL(65) * 18446744073709551616 + ('x' || SUBSTR(MD5(v.urgent::varchar), 17))::bit(64)::bigint::DECIMAL(65)) - SUM(DISTINCT ('x' || MD5(v.urgent::varchar))::bit(64)::bigint::DECIMAL(65) * 18446744073709551616 + ('x' || SUBSTR(MD5(v.urgent::varchar), 17))::bit(64)::bigint::DECIMAL(65)) FROM visits v`,
		// Measure queries of unequal width.
		`SELECT code, count(DISTINCT ci) FROM samples GROUP BY code`,
		`SELECT name, count(DISTINCT age) FROM patients GROUP BY name`,
		`SELECT name, count(DISTINCT age), count(DISTINCT score) FROM patients GROUP BY name`,
		// Constants that PostgreSQL reads as the place of a column, or not at all.
		`SELECT count(*) FROM (SELECT DISTINCT ON (id) id, smoker FROM patients ORDER BY id, 'true'::boolean) s`,
		`SELECT count(*) FROM (SELECT DISTINCT ON (id) id, smoker FROM patients ORDER BY id, 99::int4) s`,
		`SELECT count(*), avg(n) FROM (SELECT patient_id, row_number() OVER (PARTITION BY patient_id, true ORDER BY 5::int4, true) AS n FROM visits) s WHERE n = 1`,
		// Intervals, numerics and zeros that are equal and look different.
		`SELECT CASE WHEN smoker THEN interval '24:00' ELSE interval '1 day' END AS k, count(*) FROM patients GROUP BY k`,
		`SELECT CASE WHEN smoker THEN 1.0 ELSE 1.000 END AS k, count(*) FROM patients GROUP BY k`,
		`SELECT CASE WHEN smoker THEN 0.0::float8 ELSE '-0'::float8 END AS k, count(*) FROM patients GROUP BY k`,
		`SELECT iv, count(*) FROM samples GROUP BY iv`,
		`SELECT f, count(*), sum(r) FROM samples GROUP BY f`,
		`SELECT tz::date AS day, count(*) FROM samples WHERE tz >= '2020-11-01 00:00+00' AND tz < '2020-11-03 00:00+00' GROUP BY day`,
		`SELECT (ts AT TIME ZONE 'America/New_York')::date AS day, count(*) FROM samples WHERE ts >= '2020-11-01' AND ts < '2020-11-03' GROUP BY day`,
		// Groups by a key that determines the unit, joined on that key.
		`SELECT count(*), sum(t.s) FROM visits v JOIN (SELECT visit_id, sum(value) AS s FROM lab_results GROUP BY visit_id) t ON t.visit_id = v.visit_id`,
		`SELECT count(*), avg(n) FROM (SELECT visit_id, kind, count(*) AS n FROM lab_results GROUP BY 1, 2 HAVING sum(value) > 5) t`,
		`SELECT count(*) FROM visits a JOIN (SELECT DISTINCT visit_id FROM visits WHERE urgent) b ON b.visit_id = a.visit_id`,
		// Released values that main reads as constants: under collations that find them equal, as floats, times and NULL, in
		// joins that they must not multiply.
		`SELECT count(*), sum(cost) FROM visits WHERE cost > 0.5 * (SELECT avg(cost) FROM visits)`,
		`SELECT count(*) FROM samples s JOIN (SELECT ci AS k, count(*) AS n FROM faces GROUP BY ci) t ON t.k = s.ci`,
		`SELECT count(*) FROM faces f WHERE f.ci IN (SELECT ci FROM faces GROUP BY ci ORDER BY count(*) DESC LIMIT 2)`,
		`SELECT count(*) FROM samples s JOIN (SELECT tk AS k, avg(f) AS a FROM samples GROUP BY tk) t ON t.k = s.tk AND s.f > t.a`,
		`SELECT s.code, count(*) FROM samples s JOIN (SELECT code, max(tz) AS z FROM samples GROUP BY code ORDER BY 2 DESC LIMIT 2) t ON t.code = s.code AND s.tz <= t.z GROUP BY s.code`,
		`SELECT count(*) FROM visits WHERE starts > (SELECT max(starts) - interval '1 mon' FROM visits) OR starts IS NULL`,
		`SELECT count(*) FROM patients p, (SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY 2 DESC LIMIT 3) t WHERE p.age > t.n`,
		`SELECT count(*) FROM (SELECT patient_id, sum(cost) AS s FROM visits GROUP BY patient_id HAVING sum(cost) > (SELECT avg(cost) FROM visits)) t`,
		`SELECT count(*), sum(cost) FROM visits v WHERE cost > 0.5 * (SELECT avg(i.cost) FROM visits i WHERE i.ward = v.ward)`,
		`SELECT count(*) FROM samples s WHERE f > (SELECT avg(e.f) FROM samples e WHERE e.ci = s.ci)`,
		`SELECT count(*) FROM lab_results l, visits v, wards w WHERE v.visit_id = l.visit_id AND w.ward = v.ward AND w.floor > 0 AND l.value > (SELECT avg(i.minutes) FROM visits i WHERE i.ward = w.ward)`,
	} {
		all = append(all, statement{source: "known attack", number: i, sql: sql})
	}
	return all
}
