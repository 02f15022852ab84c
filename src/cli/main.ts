#!/usr/bin/env node
/**
 * npx dlpack: the only command of the package.
 *
 * @module
 */

import { createRequire } from 'node:module';
import { printableLines } from '../base/printable.js';
import { isDLPackError } from '../errors.js';
import { shipped } from '../native/load/shipped.js';
import { command as build } from './build.js';
import { type Command, UsageError } from './command.js';
import { command as conformance } from './conformance.js';
import { command as demo } from './demo.js';
import { command as doctor } from './doctor.js';
import { command as inspect } from './inspect.js';
import { packageVersion } from './package.js';
import { command as rayWorker } from './ray-worker.js';
import { command as types } from './types.js';

shipped.load = () => createRequire(import.meta.url)('../native/addon.cjs');

const commands: Record<string, Command> = {
  demo,
  doctor,
  inspect,
  conformance,
  build,
  types,
  'ray-worker': rayWorker,
};

const help = `Usage: dlpack <command> [options]

  demo          show one tensor to every library that is here, at one address
  doctor        check this machine: runtime, addon, Python, TVM-FFI and CUDA, each with a real exchange
  inspect       list the tensors of a file, or the functions of a kernel library
  conformance   check that a library follows the exchange protocol, docs/spec.md
  build         compile the addon for this machine
  types         write TypeScript declarations for TVM-FFI kernels or Python modules

  --help      show help, also after a command
  --version   show the version

Exit codes: 0 fine, 1 a problem was found, 2 wrong usage.
`;

async function main([name, ...args]: string[]): Promise<number> {
  if (name === '--version') return print(`${packageVersion()}\n`);
  if (name === 'help' && args[0] !== undefined) return main([args[0], '--help']);
  if (name === '--help' || name === '-h' || name === 'help') return print(help);
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    process.stderr.write(name === undefined ? help : `dlpack: unknown command "${name}"\n\n${help}`);
    return 2;
  }
  if (args.includes('--help') || args.includes('-h')) return print(command.help);
  try {
    return await command.run(args);
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`dlpack ${name}: ${error.message}\n\n${command.help}`);
      return 2;
    }
    // Our errors and file system errors explain themselves. Only unexpected errors need a stack.
    const isKnown = isDLPackError(error) || typeof (error as { code?: unknown }).code === 'string';
    // They may quote a file, whose names may contain what a terminal obeys.
    const text = isKnown ? (error as Error).message : String((error as Error).stack ?? error);
    process.stderr.write(`${printableLines(text)}\n`);
    return 1;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

// Not process.exit, because output that is still in a pipe has to arrive.
process.exitCode = await main(process.argv.slice(2));
