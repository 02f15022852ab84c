/** Timing in a page. */

/** The least time of `run` in microseconds, after a run to warm up. `prepare` is not measured. */
export async function leastOf<T = undefined>(
  samples: number,
  run: (prepared: T) => void | Promise<void>,
  prepare?: () => Promise<T>,
): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i <= samples; i++) {
    const prepared = (await prepare?.()) as T;
    const start = performance.now();
    await run(prepared);
    if (i > 0) times.push((performance.now() - start) * 1000);
  }
  return Math.min(...times);
}

/** The median time of each action in microseconds, after a run to warm up. The actions take turns. */
export async function mediansInTurns(samples: number, actions: readonly (() => Promise<void>)[]): Promise<number[]> {
  const times = actions.map((): number[] => []);
  for (let i = 0; i <= samples; i++) {
    for (const [which, action] of actions.entries()) {
      const start = performance.now();
      await action();
      if (i > 0) times[which]?.push((performance.now() - start) * 1000);
    }
  }
  return times.map((all) => all.sort((a, b) => a - b)[all.length >> 1] as number);
}

export interface PageResult {
  readonly rows: Record<string, number>;
  readonly adapter: Record<'vendor' | 'architecture' | 'device' | 'description', string>;
  readonly agent: string;
}

/** Sends the rows to the program that opened the page. */
export function finish({ rows, adapter, agent }: PageResult): void {
  const { vendor, architecture, device, description } = adapter; // not enumerable
  console.log(`RESULT ${JSON.stringify({ rows, adapter: { vendor, architecture, device, description }, agent })}`);
}
