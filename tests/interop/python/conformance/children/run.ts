/** Runs the cells of some peers in a virtual environment; prints one line of JSON for each peer, direction and route. */

import { python } from 'dlpack/python';
import { type Cell, cellsOf, peers } from '../cells.js';
import { Exchange } from '../exchange.js';
import type { Finding } from '../findings.js';

const [venv, folder, ...names] = process.argv.slice(2) as [string, string, ...string[]];
const exchange = new Exchange(python({ venv }), folder);
const missing = exchange.load(names);
if (missing.length > 0) console.log(JSON.stringify({ missing }));

for (const peer of peers.filter(({ name }) => names.includes(name) && !missing.includes(name))) {
  const groups = new Map<string, Cell[]>();
  const all = cellsOf(peer);
  for (const cell of all) {
    const key = `${cell.direction}|${cell.route}`;
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(cell);
  }
  for (const [key, cells] of groups) {
    console.log(JSON.stringify({ begin: `${peer.name}, ${key}` }));
    const finding: Finding = { peer: peer.name, key, outcomes: await exchange.run(peer, cells) };
    console.log(JSON.stringify(finding));
  }
  const own = all.filter(
    ({ direction, readonly, copy }) => direction === 'from JavaScript' && !readonly && copy === null,
  );
  const first = own.filter(({ route }) => route === peer.takes[0]);
  console.log(
    JSON.stringify({
      peer: peer.name,
      version: exchange.version(peer.name),
      itself: first.map((cell) => exchange.itself(peer, cell)),
    }),
  );
}
console.log(JSON.stringify({ done: true }));
