/** Runs the cells of some peers and prints one line of JSON for each peer, direction and route. */

import { type Python, python } from '../../python/index.js';
import { type Cell, cellsOf, peers } from './cells.js';
import { Exchange } from './exchange.js';
import { keyOf, type Line } from './lines.js';
import { morePeers } from './more-peers.js';

const print = (line: Line): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

export async function serveCells(names: readonly string[], venv: string | undefined): Promise<number> {
  const interpreter: Python = python(venv === undefined ? {} : { venv });
  const exchange = new Exchange(interpreter);
  const missing = exchange.load(names);
  if (missing.length > 0) print({ missing });
  for (const peer of [...peers, ...morePeers].filter(({ name }) => names.includes(name) && !missing.includes(name))) {
    const groups = new Map<string, Cell[]>();
    const all = cellsOf(peer);
    for (const cell of all) groups.set(keyOf(cell), [...(groups.get(keyOf(cell)) ?? []), cell]);
    for (const [key, cells] of groups) {
      print({ begin: `${peer.name}, ${key.replace('|', ', ')}` });
      print({ peer: peer.name, key, outcomes: await exchange.run(peer, cells) });
    }
    // Whether a library takes its own tensors is shown for the first group only.
    const first = (morePeers.includes(peer) ? [] : all).filter(
      ({ direction, readonly, copy, route }) =>
        direction === 'from JavaScript' && !readonly && copy === null && route === peer.takes[0],
    );
    const itself = first.map((cell) => exchange.itself(peer, cell));
    print({ peer: peer.name, version: exchange.version(peer.name), itself });
  }
  return 0;
}
