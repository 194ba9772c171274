// SQLPad, driven by its API as its pages do: an account, a connection, rows of queries. It reads them by a cursor, which
// it closes behind the rows that it shows. It comes with a driver that hangs on this Node: package.json has a later one,
// with which it cannot read a schema, whatever it asks.
const { spawn } = require("child_process"), fs = require("fs"), os = require("os"), path = require("path");
const assert = require("assert"), net = require("net"), timers = require("timers/promises");

const account = { email: "admin@example.org", password: "sqlpad", passwordConfirmation: "sqlpad" };
const program = require.resolve("sqlpad/server.js", { paths: [path.join(__dirname, "../tools")] });

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sqlpad-")), port = await freePort();
  const server = spawn(process.execPath, [program, "--dbPath", folder, "--ip", "127.0.0.1", "--port", port,
    "--admin", account.email], { env: { ...process.env, SQLPAD_QUERY_RESULT_MAX_ROWS: "10" }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "", cookie = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (said += text));
  const call = async (method, url, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/${url}`, {
      method, body: body && JSON.stringify(body), headers: { "Content-Type": "application/json", cookie },
    });
    for (const set of answer.headers.getSetCookie()) cookie = set.split(";")[0];
    return answer.json();
  };
  try {
    for (let again = 200; ; again--) { // until it listens
      try {
        await call("GET", "app");
        break;
      } catch (error) {
        if (again === 0 || server.exitCode !== null) throw error;
        await timers.setTimeout(100);
      }
    }
    await call("POST", "signup", account);
    await call("POST", "signin", account);
    const { connection } = await call("POST", "connections", {
      name: "clinic", driver: "postgres", host: process.env.PGHOST, port: process.env.PGPORT, database: process.env.PGDATABASE,
      username: process.env.PGUSER, password: process.env.PGPASSWORD,
    });
    assert(connection, "no connection");
    for (const [queryText, rows, incomplete] of [
      ["SELECT * FROM patients ORDER BY id DESC LIMIT 3", 3, false],
      ["SELECT * FROM patients ORDER BY id DESC", 10, true],
      ["SELECT p.name FROM visits v JOIN patients p ON p.id = v.patient_id ORDER BY p.id DESC LIMIT 5", 5, false],
    ]) {
      const { queryResult, error } = await call("POST", "query-result", {
        connectionId: connection._id, cacheKey: "preview", queryName: "preview", queryText,
      });
      assert(queryResult, `${queryText}: ${error}`);
      assert.strictEqual(queryResult.rows.length, rows, queryText);
      assert.strictEqual(queryResult.incomplete, incomplete, queryText);
      assert.match(queryResult.rows[0].name, /^Nobody 1$/, queryText);
    }
    console.log("ok");
  } catch (error) {
    console.log(error, said);
    process.exitCode = 1;
  } finally {
    server.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main();
