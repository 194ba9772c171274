SELECT array_position('{Aalen,Bonn,Celle,Dessau,Essen,Fulda,Gera,Halle,Ilmenau,Jena,Kiel,Lahr,Mainz,Neuss,Olpe,Passau,Rheine,Speyer,Trier,Ulm}', city), count(*)
FROM people GROUP BY city
