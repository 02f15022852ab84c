/**
 * A test harness small enough to behave the same on Node, Bun, Deno and in a browser.
 *
 * A test file registers tests; they run one after the other once the file is loaded. Results go to the console as TAP-like
 * lines, and the counts to a last line that scripts/lib/run-tests.mjs adds up.
 */

type Body = () => void | Promise<void>;
/** How many tests of a file passed, failed and were skipped. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}
/** What this system or runtime cannot do, whatever is installed. */
class Impossible {
  constructor(readonly why: string) {}
}
interface Registered {
  readonly name: string;
  readonly body: Body;
  readonly skip: string | Impossible | false;
}

const tests: Registered[] = [];

/** Registers a test. */
export function test(name: string, body: Body): void {
  tests.push({ name, body, skip: false });
  if (tests.length === 1) setTimeout(() => void runAll(), 0);
}

/** For {@link testWith}: false if this system or runtime can run the test, and otherwise why it never can. */
export const unless = (isPossible: boolean, why: string): Impossible | false => !isPossible && new Impossible(why);

/**
 * Registers a test that needs something; `missing` names it if it is absent. If CI is set, a missing counterpart is a failure.
 * A test that is not possible here ({@link unless}) is skipped, with CI, too.
 */
export function testWith(missing: string | Impossible | false, name: string, body: Body): void {
  test(name, body);
  const registered = tests.pop() as Registered;
  tests.push({ ...registered, skip: missing });
}

const scope = globalThis as {
  process?: { env: Record<string, string | undefined> };
  testEnvironment?: Record<string, string | undefined>;
};
/** A page has no environment variables; tests/browser/server.ts hands it some. */
const environment = scope.process?.env ?? scope.testEnvironment ?? {};

async function runAll(): Promise<void> {
  const count: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, body, skip } of tests) {
    if (skip instanceof Impossible || (skip !== false && !environment.CI)) {
      count.skipped++;
      console.log(`skip ${name}: ${skip instanceof Impossible ? skip.why : skip}`);
      continue;
    }
    try {
      if (skip !== false) throw new Error(`CI is set and this counterpart is missing: ${skip}`);
      const start = performance.now();
      await ended(body);
      count.passed++;
      if (environment.VERBOSE) console.log(`ok ${name} (${(performance.now() - start).toFixed(0)} ms)`);
    } catch (error) {
      count.failed++;
      console.log(`not ok ${name}\n${indent(error instanceof Error ? (error.stack ?? String(error)) : String(error))}`);
    }
  }
  console.log(`RESULT ${JSON.stringify(count)}`);
  const { process } = globalThis as { process?: { exit(code: number): void } };
  process?.exit(count.failed === 0 ? 0 : 1);
}

/** Runs the body to its end. A body that waits for ever fails instead of blocking the run. */
async function ended(body: Body): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('still waiting after twenty minutes')), 1_200_000);
  });
  try {
    await Promise.race([body(), never]);
  } finally {
    clearTimeout(timer);
  }
}

function indent(text: string): string {
  return text.replace(/^/gm, '    ');
}

/** Runs the collector and lets its callbacks run, several times over. */
export async function collect(): Promise<void> {
  const scope = globalThis as { gc?: () => void; Bun?: { gc(force: boolean): void } };
  for (let i = 0; i < 6; i++) {
    if (scope.Bun !== undefined) scope.Bun.gc(true);
    else if (scope.gc !== undefined) scope.gc();
    else throw new Error('this test needs --expose-gc');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Repeats a step until `done`, at least twenty times and for thirty seconds, because collectors and busy machines take time. It
 * does not look again once it has seen `done`, which may be over then.
 */
export async function repeatUntil(done: () => boolean, step: () => Promise<void>): Promise<boolean> {
  const start = Date.now();
  for (let i = 0; i < 20 || Date.now() - start < 30_000; i++) {
    if (done()) return true;
    await step();
  }
  return done();
}

/** Collects until `done`. */
export const collectUntil = (done: () => boolean): Promise<boolean> => repeatUntil(done, collect);

/**
 * False where external ArrayBuffers are forbidden, as in Electron. The memory of new tensors is in SharedArrayBuffers there,
 * which cannot be detached, and `.data` of other memory is a copy.
 */
export const hasExternalBuffers = environment.DLPACK_NO_EXTERNAL_BUFFERS === undefined;

/** Which runtime this is. */
export const runtime: 'node' | 'bun' | 'deno' = 'Bun' in globalThis ? 'bun' : 'Deno' in globalThis ? 'deno' : 'node';
