// What the adapters of Node.js libraries share: the environment in, events out, `stop`.
'use strict';

const number = (name, otherwise) => Number(process.env[name] || otherwise);

const told = {
  bootstrap: process.env.KAFKA_BOOTSTRAP,
  group: process.env.KAFKA_GROUP,
  topic: process.env.KAFKA_TOPIC,
  instance: process.env.KAFKA_INSTANCE_ID,
  assignor: process.env.GROUPCHECK_ASSIGNOR || 'range',
  sessionMs: number('GROUPCHECK_SESSION_MS', 3000),
  heartbeatMs: number('GROUPCHECK_HEARTBEAT_MS', 300),
  commitMs: number('GROUPCHECK_COMMIT_MS', 300),
  rebalanceMs: number('GROUPCHECK_REBALANCE_MS', 5000),
};

/** Prints an event. */
function tell(event, fields = {}) {
  const line = { schema: 'groupcheck.event/1', time: Date.now(), event, ...fields };
  process.stdout.write(JSON.stringify(line) + '\n');
}

/** Calls back once, when the line `stop`, or the end, has come on stdin. */
function onStop(callback) {
  let called = false;
  const once = () => {
    if (!called) {
      called = true;
      callback();
    }
  };
  const lines = require('node:readline').createInterface({ input: process.stdin });
  lines.on('line', line => line === 'stop' && once());
  lines.on('close', once);
}

/** The version of a package that is installed beside this file. */
function version(name) {
  const path = require('node:path').join(__dirname, 'node_modules', name, 'package.json');
  return JSON.parse(require('node:fs').readFileSync(path, 'utf-8')).version;
}

/** Ends the program because of what it cannot do: an assignor that its library lacks. */
function fail(reason) {
  process.stderr.write(reason + '\n');
  process.exit(2);
}

/** The end, when all that was printed has been written. */
function end() {
  process.stdout.write('', () => process.exit(0));
}

module.exports = { ...told, tell, onStop, version, fail, end };
