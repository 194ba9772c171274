# dbplyr over RPostgreSQL: tables and columns, a lazy frame's aggregates, and its rows.
suppressMessages({library(DBI); library(dplyr, warn.conflicts = FALSE); library(dbplyr, warn.conflicts = FALSE)})
con <- dbConnect(RPostgreSQL::PostgreSQL(), host = Sys.getenv("PGHOST"), port = as.integer(Sys.getenv("PGPORT")), user = Sys.getenv("PGUSER"),
                 password = Sys.getenv("PGPASSWORD"), dbname = Sys.getenv("PGDATABASE"))
cat("catalog tables", sort(dbListTables(con)), "\n")
cat("catalog columns", dbListFields(con, "patients"), "\n")
cat("catalog exists", dbExistsTable(con, "visits"), dbExistsTable(con, "nowhere"), "\n")
query <- function(frame) suppressWarnings(dbGetQuery(con, as.character(sql_render(frame))))
patients <- tbl(con, sql("SELECT * FROM patients"), vars = dbListFields(con, "patients"))
cat("answer count", query(patients %>% filter(age > 40) %>% summarise(n = n()))$n, "\n")
groups <- query(patients %>% filter(ward %in% c("A", "B")) %>% group_by(ward) %>% summarise(age = mean(age, na.rm = TRUE)) %>% arrange(ward))
for (age in groups$age) cat("answer age", age, "\n")
rows <- tryCatch(paste("rows", nrow(fetch(dbSendQuery(con, as.character(sql_render(patients %>% head(5)))), n = -1))),
                 error = function(e) paste("refused", conditionMessage(e)))
cat(gsub("\n", " ", rows), "\n")
