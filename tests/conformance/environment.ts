/** What this runtime lends to the cases of the kit. */

import { runInNewContext } from 'node:vm';
import type { Environment } from 'dlpack/conformance';
import { conformancePeer } from 'dlpack/native';

const { gc, Bun } = globalThis as { gc?: () => void; Bun?: { gc(force: boolean): void } };

export const environment: Environment = {
  collect: () => (Bun === undefined ? gc?.() : Bun.gc(true)),
  evaluate: (code) => runInNewContext(code),
  peer: conformancePeer(),
};
