/** What a compiler reports, as values. */

import { DLPackError } from '../../errors.js';

declare module '../../errors.js' {
  interface DLPackErrors {
    /** A kernel that does not compile. */
    CompileError: CompileError;
  }
}

/** One message of a compiler. */
export interface Diagnostic {
  /** `'cpp'`, `'cuda'` or `'functions'` for the options of `compile`, with an index such as `'cpp[1]'` for one of several sources; otherwise a file. */
  readonly source: string;
  /** From 1 on. In `'functions'` it is the number of the function. */
  readonly line: number;
  /** From 1 on; null when the compiler names none. */
  readonly column: number | null;
  /** Error, warning or note. */
  readonly severity: 'error' | 'warning' | 'note';
  /** What the compiler said. */
  readonly message: string;
}

/**
 * A compiler or linker failed.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { compile } from 'dlpack/tvm-ffi';
 * try {
 *   await compile({ cpp: 'int64_t triple(int64_t n) { return 3 * m; }', functions: ['triple'] });
 * } catch (error) {
 *   if (!isDLPackError(error, 'CompileError')) throw error;
 *   console.log(error.diagnostics[0]?.line); // 1
 * }
 * ```
 */
export class CompileError extends DLPackError {
  readonly tag = 'CompileError';
  /** What the compiler said, by line. */
  readonly diagnostics: readonly Diagnostic[];

  constructor(
    /** The command that failed. */
    readonly command: string,
    status: string,
    /** Everything that the command printed. */
    readonly output: string,
    lineOf: (source: string, line: number) => string | null,
  ) {
    const diagnostics = parseDiagnostics(output);
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    // A linker names no lines.
    super(errors.length === 0 ? `${command} ended with ${status}:\n${output.trim()}` : messageOf(errors, lineOf));
    this.diagnostics = diagnostics;
  }
}

/** The most errors in a message. The first errors usually cause the others. */
const MOST_ERRORS = 10;

function messageOf(errors: readonly Diagnostic[], lineOf: (source: string, line: number) => string | null): string {
  const lines = errors.slice(0, MOST_ERRORS).flatMap(({ source, line, column, message }) => {
    const place = column === null ? `${source}:${line}` : `${source}:${line}:${column}`;
    const text = lineOf(source, line);
    return text === null ? [`  ${place}: ${message}`] : [`  ${place}: ${message}`, `    ${line} | ${text}`];
  });
  if (errors.length > MOST_ERRORS) lines.push(`  and ${errors.length - MOST_ERRORS} more`);
  return `The compiler found ${errors.length === 1 ? 'an error' : `${errors.length} errors`}:\n${lines.join('\n')}`;
}

/** `file:line:column: error: message` of g++ and clang, `file(line): error: message` of nvcc. */
const forms = [
  /^(?<source>.+?):(?<line>\d+):(?:(?<column>\d+):)? (?:fatal )?(?<severity>error|warning|note): (?<message>.*)$/,
  /^(?<source>[^()]+)\((?<line>\d+)\): (?:catastrophic )?(?<severity>error|warning)(?: #[\w-]+)?: (?<message>.*)$/,
];

export function parseDiagnostics(output: string): Diagnostic[] {
  return output.split(/\r?\n/).flatMap((text) => {
    const found = forms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
    if (found === undefined) return [];
    const { source = '', line, column, severity, message = '' } = found;
    return [
      {
        source,
        line: Number(line),
        column: column === undefined ? null : Number(column),
        severity: severity as Diagnostic['severity'],
        message,
      },
    ];
  });
}
