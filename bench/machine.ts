/** The machine, for the first line of a page of results. */

import { existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/**
 * The processor and its number of cores. Virtual machines show a general name such as "AMD EPYC", so Linux adds the
 * numbers that identify the processor.
 */
export function describeMachine(): string {
  const name = cpus()[0]?.model.trim() ?? 'an unknown processor';
  const info = existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '';
  const numbers = ['cpu family', 'model', 'stepping'].flatMap((field) => {
    const value = new RegExp(`^${field}\\s*: (\\d+)$`, 'm').exec(info)?.[1];
    return value === undefined ? [] : [`${field.replace('cpu ', '')} ${value}`];
  });
  return `${name}${numbers.length > 0 ? ` (${numbers.join(', ')})` : ''}, ${cpus().length} cores`;
}
