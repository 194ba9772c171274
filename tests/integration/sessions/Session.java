import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** An application's session with pgjdbc: simple and extended mode, fetch size, server-side prepares, metadata, cancel. */
public class Session {
    static void must(boolean ok, String what) {
        if (!ok) throw new AssertionError(what);
    }

    static void refused(Connection c, String sql, String code) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.executeQuery(sql).next();
            throw new AssertionError("not refused: " + sql);
        } catch (SQLException e) {
            must(code.equals(e.getSQLState()), sql + ": " + e.getSQLState() + " " + e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE") + "?sslmode=disable";
        for (String mode : new String[] {"", "&preferQueryMode=simple", "&prepareThreshold=1&binaryTransfer=true", "&autosave=always"}) {
            session(DriverManager.getConnection(url + mode, System.getenv("PGUSER"), System.getenv("PGPASSWORD")), mode);
        }
        System.out.println("ok");
    }

    static void session(Connection c, String mode) throws Exception {
        try (PreparedStatement p = c.prepareStatement("SELECT count(*) FROM patients WHERE age > ? AND diagnosis = ?")) {
            for (int age = 30; age < 37; age++) {
                p.setInt(1, age);
                p.setString(2, "flu");
                ResultSet r = p.executeQuery();
                must(r.next() && r.getLong(1) >= 0, "count");
            }
            must(p.getWarnings() == null || p.getWarnings().getMessage().contains("% left"), "warning");
        }
        try (Statement s = c.createStatement()) {
            ResultSet r = s.executeQuery("SELECT diagnosis, count(*), avg(income), avg(weight) FROM patients GROUP BY 1 ORDER BY 1");
            must(r.getMetaData().getColumnTypeName(3).equals("numeric") && r.getMetaData().getColumnName(1).equals("diagnosis"), "metadata");
            List<String> keys = new ArrayList<>();
            while (r.next()) {
                keys.add(r.getString(1));
                BigDecimal income = r.getBigDecimal(3);
                must(income == null || income.signum() >= 0, "income");
                r.getDouble(4);
            }
            must(keys.equals(Arrays.asList("asthma", "cold", "flu", "gout")), keys.toString());
        }
        refused(c, "SELECT name FROM patients", "42501");
        refused(c, "SELECT nope FROM patients", "42703");

        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.setFetchSize(2); // a portal that pages
            ResultSet r = s.executeQuery("SELECT ward, beds FROM wards ORDER BY ward");
            int n = 0;
            while (r.next()) n++;
            must(n == 3, "fetch size");
        }
        Savepoint before = c.setSavepoint("before");
        refused(c, "SELECT 1/0", "22012");
        c.rollback(before);
        try (Statement s = c.createStatement()) {
            must(s.executeQuery("SELECT 7").next(), "after the savepoint");
        }
        c.rollback();
        c.setAutoCommit(true);

        DatabaseMetaData m = c.getMetaData();
        List<String> tables = new ArrayList<>();
        for (ResultSet r = m.getTables(null, "public", "%", new String[] {"TABLE"}); r.next();) tables.add(r.getString("TABLE_NAME"));
        must(tables.equals(Arrays.asList("lab_results", "patients", "visits", "wards")), "tables: " + tables);
        int columns = 0;
        for (ResultSet r = m.getColumns(null, "public", "patients", "%"); r.next();) columns++;
        must(columns == 9, "columns: " + columns);
        ResultSet key = m.getPrimaryKeys(null, "public", "patients");
        must(key.next() && key.getString("COLUMN_NAME").equals("id"), "primary key");
        must(m.getImportedKeys(null, "public", "visits").next(), "imported keys");
        m.getTypeInfo().next();
        c.close();
    }
}
