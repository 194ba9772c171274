<?php
// Doctrine: the schema manager, the query builder, and a table's rows.
require '/usr/share/php/Doctrine/DBAL/autoload.php';
$c = Doctrine\DBAL\DriverManager::getConnection(['driver' => 'pdo_pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'),
    'user' => getenv('PGUSER'), 'password' => getenv('PGPASSWORD'), 'dbname' => getenv('PGDATABASE')]);
$schema = $c->createSchemaManager();
$tables = array_map(fn($t) => $t->getName(), $schema->listTables());
sort($tables);
echo 'catalog tables ', json_encode($tables), "\n";
echo 'catalog columns ', json_encode(array_map(fn($x) => [$x->getName(), $x->getType()->getName(), $x->getNotnull(), $x->getPrecision()],
    array_values($schema->listTableColumns('patients')))), "\n";
$keys = array_map(fn($k) => [$k->getLocalColumns(), $k->getForeignTableName(), $k->getForeignColumns()], array_values($schema->listTableForeignKeys('visits')));
sort($keys);
echo 'catalog keys ', json_encode($keys), "\n";
echo 'catalog indexes ', json_encode(array_map(fn($i) => [$i->getColumns(), $i->isPrimary()], array_values($schema->listTableIndexes('visits')))), "\n";
$q = fn() => $c->createQueryBuilder()->from('patients', 'p');
echo 'answer count ', $q()->select('count(*)')->where('p.age > :age')->setParameter('age', 40)->executeQuery()->fetchOne(), "\n";
$rows = $q()->select('p.ward', 'avg(p.age) AS age')->where("p.ward IN ('A', 'B')")->groupBy('p.ward')->orderBy('p.ward')->executeQuery();
foreach ($rows->fetchAllAssociative() as $row) {
    echo 'answer age ', $row['age'], "\n";
}
try {
    echo 'rows ' . count($q()->select('*')->setMaxResults(5)->executeQuery()->fetchAllAssociative()) . "\n";
} catch (Doctrine\DBAL\Exception $e) {
    echo 'refused ', strtok($e->getMessage(), "\n"), "\n";
}
