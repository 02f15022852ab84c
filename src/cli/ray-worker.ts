/** npx dlpack ray-worker: a worker process of Ray. */

import { runWorker } from '../ray/worker.js';
import { type Command, UsageError } from './command.js';

export const command: Command = {
  help: `Usage: dlpack ray-worker [--python=<path>] <the arguments of Ray's worker program>

Ray starts this command for tasks and actors that are written in JavaScript (see docs/guides/ray.md).
`,
  async run(args) {
    if (!args.some((arg) => arg.endsWith('.py')))
      throw new UsageError("expected the arguments of Ray's worker program");
    // The module of an actor may have timers, which must not keep the process.
    process.exit(await runWorker(args));
  },
};
