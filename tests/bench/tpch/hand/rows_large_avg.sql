SELECT array_position('{Aalen,Bonn,Celle,Dessau,Essen,Fulda,Gera,Halle,Ilmenau,Jena,Kiel,Lahr,Mainz,Neuss,Olpe,Passau,Rheine,Speyer,Trier,Ulm}', city), count(income),
       2 * sum(LEAST(GREATEST(income::float8 * 100, 0), 20000000)::int) FILTER (WHERE income IS NOT NULL) - 20000000 * count(income),
       count(*)
FROM people GROUP BY city
