/** The JavaScript actor of the benchmarks of clusters. */

export class Actor {
  nothing(): null {
    return null;
  }

  pid(): number {
    return process.pid;
  }
}
