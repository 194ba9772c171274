# An application's session with Ruby's pg: parameters, prepared statements, errors, transactions, single-row mode.
require "pg"

def must(ok, what) = ok || abort("failed: #{what}")

def refused(conn, sql, error)
  conn.exec(sql)
  abort("not refused: #{sql}")
rescue error
  nil
end

conn = PG.connect(host: ENV.fetch("PGHOST"), port: ENV.fetch("PGPORT"))
notices = []
conn.set_notice_processor { |n| notices << n }
n = conn.exec_params("SELECT count(*) FROM patients WHERE age > $1 AND diagnosis = $2", [40, "flu"])[0]["count"].to_i
must((0..100_000).cover?(n), "count")
must(notices.any? { |m| m.include?("% left") }, "notice")
conn.prepare("younger", "SELECT count(*) FROM patients WHERE age < $1")
[20, 30].each { |age| must(conn.exec_prepared("younger", [age]).getvalue(0, 0).to_i >= 0, "prepared") }
rows = conn.exec("SELECT diagnosis, avg(income) FROM patients GROUP BY 1 ORDER BY 1")
must(rows.column_values(0) == %w[asthma cold flu gout], "groups")
refused(conn, "SELECT name FROM patients", PG::InsufficientPrivilege)
refused(conn, "SELECT nope FROM patients", PG::UndefinedColumn)
begin
  conn.transaction { |t| t.exec("SELECT 1/0") }
rescue PG::DivisionByZero
  must(conn.transaction_status == PG::PQTRANS_IDLE, "rolled back")
end
conn.send_query("SELECT ward FROM wards ORDER BY ward")
conn.set_single_row_mode
seen = []
while (r = conn.get_result)
  r.check
  r.each { |row| seen << row["ward"] }
end
must(seen == %w[A B C], "single rows")
conn.close
puts "ok"
