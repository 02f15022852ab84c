/** Tests of upstream, by name. */
export type Ports = Readonly<Record<string, () => void | Promise<void>>>;
