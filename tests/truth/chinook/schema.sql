-- A shop of music, with the tables, columns, types and keys of Chinook. The rows are made by ../chinook.go.
CREATE TABLE artist (artist_id int PRIMARY KEY, name varchar(120));
CREATE TABLE album (album_id int PRIMARY KEY, title varchar(160) NOT NULL, artist_id int NOT NULL REFERENCES artist);
CREATE TABLE genre (genre_id int PRIMARY KEY, name varchar(120));
CREATE TABLE media_type (media_type_id int PRIMARY KEY, name varchar(120));
CREATE TABLE track (track_id int PRIMARY KEY, name varchar(200) NOT NULL, album_id int REFERENCES album, media_type_id int NOT NULL REFERENCES media_type,
  genre_id int REFERENCES genre, composer varchar(220), milliseconds int NOT NULL, bytes int, unit_price numeric(10,2) NOT NULL);
CREATE TABLE playlist (playlist_id int PRIMARY KEY, name varchar(120));
CREATE TABLE playlist_track (playlist_id int NOT NULL REFERENCES playlist, track_id int NOT NULL REFERENCES track, PRIMARY KEY (playlist_id, track_id));
CREATE TABLE employee (employee_id int PRIMARY KEY, last_name varchar(20) NOT NULL, first_name varchar(20) NOT NULL, title varchar(30),
  reports_to int REFERENCES employee, birth_date timestamp, hire_date timestamp, address varchar(70), city varchar(40), state varchar(40), country varchar(40),
  postal_code varchar(10), phone varchar(24), fax varchar(24), email varchar(60));
CREATE TABLE customer (customer_id int PRIMARY KEY, first_name varchar(40) NOT NULL, last_name varchar(20) NOT NULL, company varchar(80), address varchar(70),
  city varchar(40), state varchar(40), country varchar(40), postal_code varchar(10), phone varchar(24), fax varchar(24), email varchar(60) NOT NULL,
  support_rep_id int REFERENCES employee);
CREATE TABLE invoice (invoice_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, invoice_date timestamp NOT NULL, billing_address varchar(70),
  billing_city varchar(40), billing_state varchar(40), billing_country varchar(40), billing_postal_code varchar(10), total numeric(10,2) NOT NULL);
CREATE TABLE invoice_line (invoice_line_id int PRIMARY KEY, invoice_id int NOT NULL REFERENCES invoice, track_id int NOT NULL REFERENCES track,
  unit_price numeric(10,2) NOT NULL, quantity int NOT NULL);
CREATE INDEX ON invoice (customer_id);
CREATE INDEX ON invoice_line (invoice_id);
CREATE INDEX ON invoice_line (track_id);
