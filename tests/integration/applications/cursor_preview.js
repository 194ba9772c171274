// What SQLPad and its like do to show a query's first rows: a cursor of node-postgres, closed before its end.
const pg = require("pg"), Cursor = require("pg-cursor"), assert = require("assert");

async function main() {
  const client = new pg.Client(), warnings = [];
  client.on("notice", (n) => warnings.push(n.message));
  await client.connect();
  for (const [sql, most, want] of [
    ["SELECT * FROM patients ORDER BY id DESC LIMIT 3", 100, 3],
    ["SELECT * FROM patients ORDER BY id DESC", 11, 11],
    ["SELECT * FROM visits v JOIN patients p ON p.id = v.patient_id ORDER BY p.id DESC", 100, 60],
  ]) {
    const cursor = client.query(new Cursor(sql));
    const rows = await cursor.read(most);
    assert.strictEqual(rows.length, want, sql);
    assert.match(rows[0].name, /^Nobody 1$/, sql);
    if (want < most) assert(warnings.splice(0).some((w) => w.includes("these rows are synthetic")), sql);
    await cursor.close();
  }
  await client.end();
  console.log("ok");
}

main();
