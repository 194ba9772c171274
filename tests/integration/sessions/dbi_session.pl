# An application's session with Perl's DBD::Pg: prepared statements, errors, transactions, metadata.
use strict;
use warnings;
use DBI;

sub must { my ($ok, $what) = @_; die "failed: $what\n" unless $ok }

my $dbh = DBI->connect("dbi:Pg:", $ENV{PGUSER}, $ENV{PGPASSWORD}, { RaiseError => 1, PrintError => 0, AutoCommit => 1, PrintWarn => 0 });
must($dbh->ping, "ping");
my $sth = $dbh->prepare("SELECT count(*) FROM patients WHERE age > ? AND diagnosis = ?");
for my $age (30, 40) {
    $sth->execute($age, "flu");
    my ($n) = $sth->fetchrow_array;
    must($n >= 0 && $n <= 100000, "count");
}
my $rows = $dbh->selectall_arrayref("SELECT diagnosis, avg(income) FROM patients GROUP BY 1 ORDER BY 1");
must(join(",", map { $_->[0] } @$rows) eq "asthma,cold,flu,gout", "groups");
for my $case ([ "SELECT name FROM patients", "42501" ], [ "SELECT nope FROM patients", "42703" ], [ "UPDATE wards SET beds = 0", "42501" ]) {
    eval { $dbh->selectall_arrayref($case->[0]) };
    must($dbh->state eq $case->[1], "$case->[0]: " . $dbh->state);
}
$dbh->begin_work;
must($dbh->selectrow_array("SELECT 1") == 1, "in a transaction");
eval { $dbh->do("SELECT 1/0") };
must($dbh->state eq "22012", "division");
eval { $dbh->selectrow_array("SELECT 1") };
must($dbh->state eq "25P02", "failed transaction");
$dbh->rollback;
my @tables = map { $_->{TABLE_NAME} } @{ $dbh->table_info("", "public", "%", "TABLE")->fetchall_arrayref({}) };
must(join(",", sort @tables) eq "lab_results,patients,visits,wards", "tables: @tables");
my @columns = map { $_->{COLUMN_NAME} } @{ $dbh->column_info("", "public", "wards", "%")->fetchall_arrayref({}) };
must(join(",", @columns) eq "ward,name,floor,beds", "columns: @columns");
$dbh->disconnect;
print "ok\n";
