<?php
// Eloquent: what its schema builder asks, aggregates of models, and a model's rows.
require '/usr/share/php/Illuminate/Database/autoload.php';
$capsule = new Illuminate\Database\Capsule\Manager();
$capsule->addConnection(['driver' => 'pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'username' => getenv('PGUSER'),
    'password' => getenv('PGPASSWORD'), 'database' => getenv('PGDATABASE'), 'charset' => 'utf8', 'schema' => 'public']);
$capsule->setAsGlobal();
$capsule->bootEloquent();
class Patient extends Illuminate\Database\Eloquent\Model { protected $table = 'patients'; }
$schema = $capsule->getConnection()->getSchemaBuilder();
echo 'catalog columns ', json_encode($schema->getColumnListing('patients')), "\n";
echo 'catalog tables ', json_encode([$schema->hasTable('patients'), $schema->hasTable('nowhere'), $schema->hasColumn('visits', 'cost')]), "\n";
echo 'answer count ', Patient::where('age', '>', 40)->count(), "\n";
foreach (Patient::whereIn('ward', ['A', 'B'])->groupBy('ward')->orderBy('ward')->selectRaw('ward, avg(age) AS age')->get() as $row) {
    echo 'answer age ', $row->age, "\n";
}
try {
    echo 'rows ' . Patient::limit(5)->get()->count() . "\n";
} catch (Illuminate\Database\QueryException $e) {
    echo 'refused ', strtok($e->getMessage(), "\n"), "\n";
}
