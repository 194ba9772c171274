<?php
// An application's session with PHP's PDO: native and emulated prepares, errors, transactions.
function must($ok, $what) { if (!$ok) { fwrite(STDERR, "failed: $what\n"); exit(1); } }
$dsn = sprintf("pgsql:host=%s;port=%s;dbname=%s", getenv("PGHOST"), getenv("PGPORT"), getenv("PGDATABASE"));
foreach ([false, true] as $emulate) {
    $db = new PDO($dsn, getenv("PGUSER"), getenv("PGPASSWORD"), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulate]);
    $q = $db->prepare("SELECT count(*) FROM patients WHERE age > :age AND diagnosis = :d");
    foreach ([30, 40] as $age) {
        $q->execute(["age" => $age, "d" => "flu"]);
        $n = $q->fetchColumn();
        must($n >= 0 && $n <= 100000, "count");
    }
    $rows = $db->query("SELECT diagnosis, avg(income) FROM patients GROUP BY 1 ORDER BY 1")->fetchAll(PDO::FETCH_NUM);
    must(array_column($rows, 0) === ["asthma", "cold", "flu", "gout"], "groups");
    foreach ([["SELECT name FROM patients", "42501"], ["SELECT nope FROM patients", "42703"]] as [$sql, $code]) {
        try { $db->query($sql)->fetchAll(); must(false, "not refused: $sql"); } catch (PDOException $e) { must($e->getCode() === $code, "$sql: " . $e->getMessage()); }
    }
    $db->beginTransaction();
    must($db->query("SELECT beds FROM wards WHERE ward = 'A'")->fetchColumn() === 30, "public");
    $db->rollBack();
}
echo "ok\n";
