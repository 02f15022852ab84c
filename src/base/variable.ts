/** An environment variable; undefined in a browser, and in Deno without permission, where reading it throws. */
export function variable(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
  } catch {
    return undefined;
  }
}
