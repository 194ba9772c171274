SELECT array_position('{Aalen,Bonn,Celle,Dessau,Essen,Fulda,Gera,Halle,Ilmenau,Jena,Kiel,Lahr,Mainz,Neuss,Olpe,Passau,Rheine,Speyer,Trier,Ulm}', city), count(*),
       count(income),
       2 * sum(LEAST(GREATEST(income::float8 * 100, 0), 20000000)::int) FILTER (WHERE income IS NOT NULL) - 20000000 * count(income),
       sum(CASE WHEN age < 1 THEN 1 WHEN age > 120 THEN 120 ELSE age END)
FROM people GROUP BY city
