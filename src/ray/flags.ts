/** The runtime's flags for a JavaScript worker. */

/** Flags that take the program as their value. */
const code = /^(-e|--eval|-p|--print|-pe)(=|$)/;
/** Other flags of this process that a worker must not have, such as a debugger's port, which is taken. */
const own = /^--(input-type|inspect|watch|test)/;

/** The flags of this process that a worker has, too: all but the program, and flags that only one process can have. */
export function workerFlags(execArgv: readonly string[]): string[] {
  const isDropped = (flag: string) => code.test(flag) || own.test(flag);
  const isValueOf = (flag: string, before: string) =>
    isDropped(before) && !before.includes('=') && (code.test(before) || !flag.startsWith('-'));
  return execArgv.filter((flag, i) => {
    const before = execArgv[i - 1];
    return before !== undefined && isValueOf(flag, before) ? false : !isDropped(flag);
  });
}
