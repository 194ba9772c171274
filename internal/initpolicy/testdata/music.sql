-- A shop that sells music: employees beside customers, keys of two columns, a generated column.
CREATE TABLE "Employee" ("EmployeeId" int PRIMARY KEY, "LastName" text NOT NULL, "ReportsTo" int REFERENCES "Employee", "BirthDate" timestamp);
CREATE TABLE "Customer" ("CustomerId" int PRIMARY KEY, "LastName" text NOT NULL, "Country" text, "SupportRepId" int REFERENCES "Employee");
CREATE TABLE "Invoice" ("InvoiceId" int PRIMARY KEY, "CustomerId" int NOT NULL REFERENCES "Customer", "InvoiceDate" timestamp NOT NULL, "Total" numeric(10,2) CHECK ("Total" >= 0));
CREATE TABLE "Artist" ("ArtistId" int PRIMARY KEY, "Name" text);
CREATE TABLE "Album" ("AlbumId" int PRIMARY KEY, "Title" text, "ArtistId" int REFERENCES "Artist");
CREATE TABLE "Track" ("TrackId" int PRIMARY KEY, "Name" text, "AlbumId" int REFERENCES "Album", "Milliseconds" int NOT NULL);
CREATE TABLE "InvoiceLine" ("InvoiceId" int REFERENCES "Invoice", "LineNo" int, "TrackId" int REFERENCES "Track", "UnitPrice" numeric(10,2) NOT NULL, "Quantity" int NOT NULL,
  "Amount" numeric(12,2) GENERATED ALWAYS AS ("UnitPrice" * "Quantity") STORED, PRIMARY KEY ("InvoiceId", "LineNo"));
CREATE TABLE "Refund" ("RefundId" int PRIMARY KEY, "InvoiceId" int, "LineNo" int, "Reason" text, FOREIGN KEY ("InvoiceId", "LineNo") REFERENCES "InvoiceLine");
CREATE TABLE "Wallet" ("CustomerId" int REFERENCES "Customer", "Currency" text, "Balance" numeric(10,2), PRIMARY KEY ("CustomerId", "Currency"));
CREATE TABLE "WalletEntry" ("Owner" int, "Currency" text, "Amount" numeric(10,2), FOREIGN KEY ("Owner", "Currency") REFERENCES "Wallet");
-- The number of a device is a key of two columns by itself, and whose it is stands in another column: no chain leads there.
CREATE TABLE "Device" ("Maker" text, "Serial" text, "CustomerId" int REFERENCES "Customer", PRIMARY KEY ("Maker", "Serial"));
CREATE TABLE "DeviceLog" ("Maker" text, "Serial" text, "Line" text, FOREIGN KEY ("Maker", "Serial") REFERENCES "Device");
CREATE TABLE "DeviceLogPart" ("Of" text, "Maker" text, "Serial" text, FOREIGN KEY ("Maker", "Serial") REFERENCES "Device");
CREATE TABLE "Playlist" ("PlaylistId" int PRIMARY KEY, "Name" text);
CREATE TABLE "PlaylistTrack" ("PlaylistId" int REFERENCES "Playlist", "TrackId" int REFERENCES "Track", PRIMARY KEY ("PlaylistId", "TrackId"));
CREATE TABLE "Department" ("DepartmentId" int PRIMARY KEY, "Name" text, "ManagerId" int REFERENCES "Employee");
CREATE VIEW "Sales" AS SELECT i."CustomerId", l."Amount" FROM "Invoice" i JOIN "InvoiceLine" l USING ("InvoiceId");
CREATE VIEW "Spending" AS SELECT c."Country", sum(i."Total") AS total FROM "Customer" c JOIN "Invoice" i USING ("CustomerId") GROUP BY 1;
CREATE VIEW "Reps" AS SELECT c."CustomerId", e."LastName" FROM "Customer" c JOIN "Employee" e ON e."EmployeeId" = c."SupportRepId";
